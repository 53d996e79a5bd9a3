"""Kendall's τ-b by looking at every pair (Kendall 1945; 1970, ch. 3-5)."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations


def tau_b(x: list[float], y: list[float]) -> float:
    """(C − D) / √((n₀ − n₁)(n₀ − n₂)); NaN where a side has no untied pair."""
    score, untied_x, untied_y = 0, 0, 0
    for i, j in combinations(range(len(x)), 2):
        sx, sy = _sign(x[i] - x[j]), _sign(y[i] - y[j])
        score += sx * sy
        untied_x += sx != 0
        untied_y += sy != 0
    if untied_x == 0 or untied_y == 0:
        return math.nan
    return score / math.sqrt(untied_x * untied_y)


def tie_rate(x: list[float]) -> float:
    """The share of pairs with equal values."""
    pairs = list(combinations(x, 2))
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan


def p_exact(x: list[float], y: list[float]) -> float:
    """Two-sided, without ties, from every order of y there is: P(|S'| ≥ |S|)."""
    observed = abs(_score(x, y))
    scores = [abs(_score(x, list(order))) for order in permutations(y)]
    return sum(score >= observed for score in scores) / len(scores)


def p_normal(x: list[float], y: list[float]) -> float:
    """Two-sided, with the variance of C − D under ties (Kendall 1970, §4.4)."""
    n = len(x)
    t, u = Counter(x).values(), Counter(y).values()
    v0 = n * (n - 1) * (2 * n + 5)
    vt = sum(c * (c - 1) * (2 * c + 5) for c in t)
    vu = sum(c * (c - 1) * (2 * c + 5) for c in u)
    v1 = sum(c * (c - 1) for c in t) * sum(c * (c - 1) for c in u) / (2 * n * (n - 1))
    v2 = sum(c * (c - 1) * (c - 2) for c in t) * sum(c * (c - 1) * (c - 2) for c in u)
    variance = (v0 - vt - vu) / 18 + v1 + v2 / (9 * n * (n - 1) * (n - 2))
    return math.erfc(abs(_score(x, y)) / math.sqrt(2 * variance))


def _score(x: list[float], y: list[float]) -> int:
    pairs = combinations(range(len(x)), 2)
    return sum(_sign(x[i] - x[j]) * _sign(y[i] - y[j]) for i, j in pairs)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
