"""Candidates for an unsigned measure, from their definitions; `value` is of the words gone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

Value = Callable[[frozenset[int]], float]


def path_variation(value: Value, order: Sequence[int]) -> float:
    n = len(order)
    moved = [abs(value(frozenset(order[:k])) - value(frozenset(order[: k + 1]))) for k in range(n)]
    return sum((1 - k / (n - 1)) * moved[k] for k in range(n)) / sum(moved)


def falls(value: Value, order: Sequence[int], shares: Sequence[str]) -> list[float]:
    counts = [math.ceil(Fraction(share) * len(order)) for share in shares]
    return [value(frozenset()) - value(frozenset(order[:count])) for count in counts]


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    n = len(one)
    mean, mean_other = sum(one) / n, sum(other) / n
    both = sum((a - mean) * (b - mean_other) for a, b in zip(one, other, strict=True))
    size = math.sqrt(sum((a - mean) ** 2 for a in one))
    return both / size / math.sqrt(sum((b - mean_other) ** 2 for b in other))
