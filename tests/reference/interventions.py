"""Edits of attention for one text and one try at a time, by running the model itself."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from heedful.types import Batch


def output(model: Any, batch: Batch, new: dict[str, Tensor]) -> list[list[float]]:
    """Class probabilities with whole weights put in place at some sites."""
    edits = {name: (lambda call, w=weights: w) for name, weights in new.items()}
    out = []
    for logits in model(batch, edits).logits.tolist():
        if len(logits) == 1:
            p = 1 / (1 + math.exp(-logits[0]))
            out.append([1 - p, p])
            continue
        powers = [math.exp(value - max(logits)) for value in logits]
        out.append([power / math.fsum(powers) for power in powers])
    return out


def tvd(p: list[float], q: list[float]) -> float:
    return math.fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def jsd(p: list[float], q: list[float]) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        total += sum(x * math.log(x / middle) for x in (a, b) if x > 0) / 2
    return total


def erased(weights: Tensor, readers: Tensor, tokens: list[int]) -> Tensor:
    """Weights `[h, q, k]` of one text less some keys at the rows that are read."""
    new = weights.clone()
    heads, queries, keys = weights.shape
    for h in range(heads):
        for q in range(queries):
            if readers[q] <= 0:
                continue
            rest = math.fsum(float(weights[h, q, k]) for k in range(keys) if k not in tokens)
            for k in range(keys):
                kept = 0.0 if k in tokens or rest <= 0 else float(weights[h, q, k]) / rest
                new[h, q, k] = kept
    return new


def words(numbers: list[int]) -> list[list[int]]:
    """The tokens of each word."""
    return [[t for t, n in enumerate(numbers) if n == w] for w in range(max(numbers) + 1)]
