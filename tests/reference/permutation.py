"""The logit under every order of the attention weights there is."""

from __future__ import annotations

import math
from itertools import permutations


def logit_moments(alpha: list[float], z: list[float], bias: float) -> tuple[float, float]:
    """Mean and standard deviation (over all T! orders, none left out)."""
    logits = [
        math.fsum(a * b for a, b in zip(order, z, strict=True)) + bias
        for order in permutations(alpha)
    ]
    mean = math.fsum(logits) / len(logits)
    return mean, math.sqrt(math.fsum((logit - mean) ** 2 for logit in logits) / len(logits))
