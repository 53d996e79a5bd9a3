"""The word is cut out: the text gets shorter, and what follows moves up."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from heedful.catalogue import Piece
from heedful.removal.filler import filler
from heedful.removal.operator import Operator, Removed, with_text
from heedful.types import Batch, Model, Text
from heedful.words import without_tokens, word_numbers


def delete() -> Operator:
    return Operator("delete", _apply, shortens=True)


def _apply(model: Model, batch: Batch, gone: Tensor) -> Removed:
    text = batch.texts["a"]
    bare = gone.sum(-1) == text.lengths
    if bool(bare.any()):
        first = torch.zeros_like(gone).index_fill(1, gone.new_zeros(1, dtype=torch.long), True)
        stay = first & bare[:, None]
        text, gone = _filled(text, stay, filler(model, "unk")), gone & ~stay
    return Removed(with_text(batch, without_tokens(text, gone)))


def _filled(text: Text, stay: Tensor, token: int) -> Text:
    """A model must have something to read: where a text without special tokens loses all it
    had, one unknown word is left, and it belongs to no word."""
    return replace(
        text,
        tokens=text.tokens.masked_fill(stay, token),
        mask=text.mask & ~stay,
        words=word_numbers(text).masked_fill(stay, -1),
    )


PIECE = Piece(name="delete", description="the text gets shorter", make=delete, paper="jain2019")
