"""Distances between distributions, given as lists of floats."""

from __future__ import annotations

import math


def tvd(p: list[float], q: list[float]) -> float:
    """jain2019, §4.1: ½ Σ |p_i − q_i|."""
    return 0.5 * math.fsum(abs(a - b) for a, b in zip(p, q, strict=True))


def kl(p: list[float], q: list[float]) -> float:
    """Σ p log(p/q), with 0 log 0 = 0 and p log(p/0) = ∞."""
    terms = []
    for a, b in zip(p, q, strict=True):
        if a == 0.0:
            continue
        if b == 0.0:
            return math.inf
        terms.append(a * (math.log(a) - math.log(b)))
    return math.fsum(terms)


def jsd(p: list[float], q: list[float]) -> float:
    """jain2019, §4.2.2: ½ KL(p ‖ m) + ½ KL(q ‖ m), m the mean of both."""
    m = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return 0.5 * kl(p, m) + 0.5 * kl(q, m)


def entropy(p: list[float]) -> float:
    """−Σ p log p."""
    return -math.fsum(a * math.log(a) for a in p if a > 0.0)
