"""The word's tokens become the unknown word."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.removal.filler import filler
from heedful.removal.mask import replaced
from heedful.removal.operator import Operator, Removed
from heedful.types import Batch, Model


def unk() -> Operator:
    return Operator("unk", _apply)


def _apply(model: Model, batch: Batch, gone: Tensor) -> Removed:
    return replaced(batch, gone, filler(model, "unk"))


PIECE = Piece(name="unk", description="the unknown word in place of each token", make=unk)
