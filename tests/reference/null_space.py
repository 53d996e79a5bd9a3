"""The furthest weights with the same head output, exactly: every vertex is tried.

The divergence is convex, so its largest value over {α ≥ 0, α·[V, 1] as before} is at a vertex,
and a vertex has at most rank([V, 1]) keys with weight, whose rows of [V, 1] are independent.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reference.interventions import jsd

Array = NDArray[np.float64]


def furthest(alpha: Array, values: Array) -> float:
    full = np.c_[values, np.ones(len(values))]
    aim, size = alpha @ full, int(np.linalg.matrix_rank(full))
    best = 0.0
    for keys in combinations(range(len(alpha)), size):
        chosen = full[list(keys)]
        if np.linalg.matrix_rank(chosen) < size:
            continue
        weights = np.linalg.lstsq(chosen.T, aim, rcond=None)[0]
        if (weights < -1e-10).any() or np.abs(weights @ chosen - aim).max() > 1e-9:
            continue
        vertex = np.zeros(len(alpha))
        vertex[list(keys)] = np.maximum(weights, 0)
        best = max(best, jsd(vertex.tolist(), alpha.tolist()))
    return best
