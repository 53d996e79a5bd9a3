"""The hard concrete gate, one number at a time (Louizos et al. 2018, equations 10 to 12)."""

from __future__ import annotations

import math


def gate(logit: float, draw: float, temperature: float, low: float, high: float) -> float:
    """s = σ((ln u − ln(1 − u) + ln α) / β); s(ζ − γ) + γ, cut off at 0 and 1."""
    soft = 1 / (1 + math.exp(-(math.log(draw) - math.log(1 - draw) + logit) / temperature))
    return min(1.0, max(0.0, soft * (high - low) + low))


def share_open(logit: float, temperature: float, low: float, high: float, draws: int) -> float:
    """Of evenly spread draws, the share whose gate is not 0."""
    gates = (gate(logit, (i + 0.5) / draws, temperature, low, high) for i in range(draws))
    return sum(each > 0 for each in gates) / draws
