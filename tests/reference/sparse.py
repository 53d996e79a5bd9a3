"""Sparse weights and random gates, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.integrate import quad

Vector = list[float]


def sparsemax(scores: Vector) -> Vector:
    """Martins & Astudillo 2016, Algorithm 1: sort, find how many stay, subtract the threshold."""
    threshold = (math.fsum(supported(scores)) - 1) / len(supported(scores))
    return [max(score - threshold, 0.0) for score in scores]


def supported(scores: Vector) -> Vector:
    """The k largest scores, for the largest k with 1 + k·z(k) > z(1) + … + z(k)."""
    z = sorted(scores, reverse=True)
    fitting = [k for k in range(1, len(z) + 1) if 1 + k * z[k - 1] > math.fsum(z[:k])]
    return z[: max(fitting)]


def entmax(scores: Vector) -> Vector:
    """Peters et al. 2019 for α = 1.5: max(s/2 − τ, 0)², τ halved in until the sum is 1."""
    low, high = max(scores) / 2 - 1, max(scores) / 2
    for _ in range(200):
        middle = (low + high) / 2
        if math.fsum(max(score / 2 - middle, 0.0) ** 2 for score in scores) > 1:
            low = middle
        else:
            high = middle
    return [max(score / 2 - low, 0.0) ** 2 for score in scores]


def hard_kuma(a: float, b: float) -> tuple[float, float, float]:
    """P(0), P(1) and the mean of the stretched variable (Bastings et al. 2019), by integrals of
    the density a·b·xᵃ⁻¹·(1 − xᵃ)ᵇ⁻¹ over what the stretching takes below 0, above 1, and all."""

    def density(x: float) -> float:
        return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)

    mean = _integral(lambda x: (1.2 * x - 0.1) * density(x), 0, 1)
    return _integral(density, 0, 0.1 / 1.2), _integral(density, 1.1 / 1.2, 1), mean


def _integral(function: Callable[[float], float], low: float, high: float) -> float:
    value, _ = quad(function, low, high, limit=500, epsabs=1e-12)
    return float(value)
