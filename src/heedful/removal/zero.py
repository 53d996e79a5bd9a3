"""The word's embeddings become zero; positions and segments stay."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.removal.operator import Operator, Removed
from heedful.types import Batch, Model


def zero() -> Operator:
    return Operator("zero", _apply)


def _apply(model: Model, batch: Batch, gone: Tensor) -> Removed:
    embedded = model.embed(batch)
    silenced = embedded["a"].masked_fill(gone[..., None], 0.0)
    return Removed(batch, {**embedded, "a": silenced})


PIECE = Piece(
    name="zero",
    description="a zero vector in place of each token's embedding",
    make=zero,
    paper="bastings2020",
)
