"""LASSO on standardised columns as ContextCite fits it (Cohen-Wang et al. 2024), one number at a
time."""

from __future__ import annotations

import math
from collections.abc import Sequence


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


def lasso(
    kept: Sequence[Sequence[bool]], values: Sequence[float], penalty: float, rounds: int = 400
) -> list[float]:
    """Coordinate descent: each standardised weight in turn is the soft-thresholded mean product of
    its column with what the others leave unexplained."""
    m, n = len(kept), len(kept[0])
    means = [sum(row[i] for row in kept) / m for i in range(n)]
    spreads = [math.sqrt(mean * (1 - mean)) for mean in means]
    left = [value - sum(values) / m for value in values]
    weights = [0.0] * n
    for _ in range(rounds):
        for i in (i for i in range(n) if spreads[i] > 0):
            column = [(row[i] - means[i]) / spreads[i] for row in kept]
            rest = [r + weights[i] * x for r, x in zip(left, column, strict=True)]
            product = sum(r * x for r, x in zip(rest, column, strict=True)) / m
            weights[i] = math.copysign(max(0.0, abs(product) - penalty), product)
            left = [r - weights[i] * x for r, x in zip(rest, column, strict=True)]
    return [w / s if s > 0 else 0.0 for w, s in zip(weights, spreads, strict=True)]
