"""Erasure measures of one text, as written down, from a function of the set of words left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

Answer = Callable[[frozenset[int]], tuple[float, int]]
"""From the words left to (quantity, decision)."""


def erasure(answer: Answer, order: Sequence[int], shares: Sequence[str]) -> dict[str, float]:
    n, words = len(order), frozenset(order)
    p, decision = answer(words)
    bins = [math.ceil(Fraction(share) * n) for share in shares]
    grid = sorted({math.ceil(Fraction(i, 10) * n) for i in range(11)})

    def less(k: int) -> float:
        return answer(words - frozenset(order[:k]))[0]

    def only(k: int) -> float:
        return answer(frozenset(order[:k]))[0]

    tried = range(1, n) if n <= 32 else sorted({*bins, *grid} - {0, n})
    flips = [k for k in tried if answer(words - frozenset(order[:k]))[1] != decision]
    return {
        "comprehensiveness": sum(p - less(k) for k in bins) / len(bins),
        "sufficiency": sum(p - only(k) for k in bins) / len(bins),
        "deletion_auc": area([(k / n, less(k)) for k in grid]),
        "insertion_auc": area([(k / n, only(k)) for k in grid]),
        "flip_share": flips[0] / n if flips else math.nan,
        "flip_censored": float(not flips),
    }


def area(points: list[tuple[float, float]]) -> float:
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))
