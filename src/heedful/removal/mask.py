"""The word's tokens become the model's mask token, or its unknown word where it has none."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from heedful.catalogue import Piece
from heedful.removal.filler import filler
from heedful.removal.operator import Operator, Removed, with_text
from heedful.types import Batch, Model


def mask() -> Operator:
    return Operator("mask", _apply)


def _apply(model: Model, batch: Batch, gone: Tensor) -> Removed:
    return replaced(batch, gone, filler(model, "mask"))


def replaced(batch: Batch, gone: Tensor, token: int) -> Removed:
    """The same token in place of all that is gone."""
    text = batch.texts["a"]
    return Removed(with_text(batch, replace(text, tokens=text.tokens.masked_fill(gone, token))))


PIECE = Piece(
    name="mask",
    description="the mask token in place of each token (the unknown word where there is no mask)",
    make=mask,
)
