"""Erasing items of one row of attention, one set at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def logits_less(
    alpha: Sequence[float], z: Sequence[Sequence[float]], bias: Sequence[float], gone: Iterable[int]
) -> list[float]:
    """The logits when the items have no weight and the others share what they had."""
    left = [i for i in range(len(alpha)) if i not in set(gone)]
    total = math.fsum(alpha[i] for i in left)
    return [math.fsum(alpha[i] / total * z[i][c] for i in left) + bias[c] for c in range(len(bias))]


def decision(logits: Sequence[float]) -> int:
    if len(logits) == 1:
        return int(logits[0] > 0)
    return max(range(len(logits)), key=lambda c: logits[c])


def steps_to_flip(
    alpha: Sequence[float],
    z: Sequence[Sequence[float]],
    bias: Sequence[float],
    order: Sequence[int],
) -> int | None:
    """How many items of the order must go; None where all but one may go and nothing flips."""
    before = decision(logits_less(alpha, z, bias, ()))
    for steps in range(1, len(order)):
        if decision(logits_less(alpha, z, bias, order[:steps])) != before:
            return steps
    return None


def jensen_shannon(p: Sequence[float], q: Sequence[float]) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (_kl(p, middle) + _kl(q, middle)) / 2


def softmax(logits: Sequence[float]) -> list[float]:
    if len(logits) == 1:
        return softmax([0.0, logits[0]])
    top = max(logits)
    raised = [math.exp(value - top) for value in logits]
    return [value / math.fsum(raised) for value in raised]


def _kl(p: Sequence[float], q: Sequence[float]) -> float:
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)
