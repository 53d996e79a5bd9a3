"""The word keeps its place, but no attention may see it."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from heedful.catalogue import Piece
from heedful.removal.operator import Operator, Removed, with_text
from heedful.types import Batch, Model


def attention() -> Operator:
    return Operator("attention", _apply)


def _apply(model: Model, batch: Batch, gone: Tensor) -> Removed:
    text = batch.texts["a"]
    hidden = gone if text.hidden is None else gone | text.hidden
    return Removed(with_text(batch, replace(text, hidden=hidden)))


PIECE = Piece(
    name="attention",
    description="hidden from every attention; an encoder without attention still reads it",
    make=attention,
)
