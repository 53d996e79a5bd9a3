"""The task's score with attention replaced, one example at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from heedful.data import Split
from heedful.types import Model

Weights = Callable[[Tensor, Tensor], Tensor]
"""(weights, mask) of one example to other weights."""


def accuracy(model: Model, split: Split, other: Weights | None = None) -> float:
    """`other` takes the place of every site's weights."""
    right = 0
    for index in range(len(split)):
        edits = {site.name: _edit(other) for site in model.sites} if other else None
        with torch.no_grad():
            logits = model(split.batch([index]), edits).logits[0]
        decided = int(logits[0] > 0) if len(logits) == 1 else int(logits.argmax())
        right += decided == int(split.labels[index])
    return right / len(split)


def _edit(other: Weights):  # type: ignore[no-untyped-def]
    return lambda call: other(call.weights, call.mask.expand_as(call.weights))


def even(weights: Tensor, mask: Tensor) -> Tensor:
    return mask.to(weights.dtype) / mask.sum(-1, keepdim=True).clamp_min(1)
