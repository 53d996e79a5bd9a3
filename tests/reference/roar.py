"""ROAR as the papers put it, word by word and trapezoid by trapezoid (Madsen et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def racu(x: Sequence[float], explained: Sequence[float], random: Sequence[float]) -> float:
    """Σ ½ Δx_i (Δp_i + Δp_{i+1}) / Σ ½ Δx_i (Δb_i + Δb_{i+1}), where Δp = b − p, Δb = b − b_I."""
    above = below = 0.0
    for i in range(len(x) - 1):
        step = x[i + 1] - x[i]
        apart = [random[j] - explained[j] for j in (i, i + 1)]
        lost = [random[j] - random[-1] for j in (i, i + 1)]
        above += 0.5 * step * sum(apart)
        below += 0.5 * step * sum(lost)
    return above / below if below > 0 else math.nan


def masked_next(scores: Sequence[float], before: Sequence[bool], percent: int) -> list[bool]:
    """One word after another, the largest score first, until so many are masked; no two scores are
    equal."""
    out = list(before)
    while sum(out) < math.floor(percent * len(scores) / 100):
        left = [i for i in range(len(scores)) if not out[i]]
        out[max(left, key=lambda i: scores[i])] = True
    return out
