"""Logits less each token in turn, by running the model on the shorter texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from heedful.types import Batch, Deleted
from heedful.words import without_tokens

_TOKENS_AT_ONCE = 1 << 14


@torch.no_grad()
def without_each(logits_of: Callable[[Batch], Tensor], batch: Batch) -> Deleted:
    """NaN also where a text would have no token left at all."""
    text = batch.texts["a"]
    whole = logits_of(batch).double()
    less = whole.new_full((*text.mask.shape, whole.shape[-1]), float("nan"))
    examples, places = (text.mask & (text.lengths > 1)[:, None]).nonzero(as_tuple=True)
    order = text.lengths[examples].argsort(stable=True)
    size = max(1, _TOKENS_AT_ONCE // max(1, text.tokens.shape[1]))
    for chunk in torch.split(order, size):
        rows, gone = examples[chunk], places[chunk]
        less[rows, gone] = logits_of(_without(batch, rows, gone)).double()
    return Deleted(whole, less)


def _without(batch: Batch, rows: Tensor, places: Tensor) -> Batch:
    some = batch.take(rows)
    text = some.texts["a"]
    gone = torch.zeros_like(text.mask).scatter(1, places[:, None], True)
    return replace(some, texts={**some.texts, "a": without_tokens(text, gone)})
