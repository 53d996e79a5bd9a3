"""Marginals of a binary linear-chain CRF, by all 2ⁿ selections."""

from __future__ import annotations

import math
from itertools import pairwise, product

Vector = list[float]


def marginals(scores: Vector, transitions: list[Vector]) -> Vector:
    """Kim et al. 2017, §3.1: p(z) ∝ exp(Σ score_i · z_i + Σ transitions[z_i][z_i+1])."""
    total, selected = 0.0, [0.0] * len(scores)
    for states in product((0, 1), repeat=len(scores)):
        potential = math.fsum(s * z for s, z in zip(scores, states, strict=True))
        potential += math.fsum(transitions[one][other] for one, other in pairwise(states))
        power = math.exp(potential)
        total += power
        for place, state in enumerate(states):
            selected[place] += power * state
    return [each / total for each in selected]


def weights(scores: Vector, transitions: list[Vector]) -> Vector:
    """Marginals divided by their sum."""
    found = marginals(scores, transitions)
    return [each / math.fsum(found) for each in found]
