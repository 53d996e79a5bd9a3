"""Explanations made of attention, one text at a time and number by number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean_row(weights: Array, readers: Array) -> list[float]:
    """The mean over heads of the read rows; `weights[h, q, k]`."""
    heads, queries, keys = weights.shape
    return [
        math.fsum(readers[q] * weights[h, q, k] for h in range(heads) for q in range(queries))
        / heads
        for k in range(keys)
    ]


def rollout(layers: list[Array]) -> Array:
    """Abnar & Zuidema 2020, Eq. 1: Ã(l) = A(l) Ã(l − 1), A(l) = ½ W(l) + ½ I; `[h, n, n]` each."""
    n = layers[0].shape[1]
    total = [[float(i == j) for j in range(n)] for i in range(n)]
    for weights in layers:
        step = [
            [0.5 * sum(head[i][j] for head in weights) / len(weights) + 0.5 * (i == j)
             for j in range(n)]
            for i in range(n)
        ]  # fmt: skip
        total = [
            [math.fsum(step[i][m] * total[m][j] for m in range(n)) for j in range(n)]
            for i in range(n)
        ]
    return np.array(total)


def value_norm(weights: Array, values: Array, projection: Array, readers: Array) -> list[float]:
    """Kobayashi et al. 2020, Eq. 4 and their sum over heads: ‖Σ_h α f(x)‖ with f(x) = v W_O; a mean
    over the queries that are read. `values[h, k, d]`, `projection[h, d, e]`."""
    heads, queries, keys = weights.shape
    out = []
    for k in range(keys):
        total = 0.0
        for q in range(queries):
            summed = [0.0] * projection.shape[2]
            for h in range(heads):
                for e in range(len(summed)):
                    f = math.fsum(
                        v * w for v, w in zip(values[h, k], projection[h, :, e], strict=True)
                    )
                    summed[e] += weights[h, q, k] * f
            total += readers[q] * math.sqrt(math.fsum(x * x for x in summed))
        out.append(total)
    return out


def effective(alpha: Array, values: Array) -> Array:
    """Brunner et al. 2020: α less its part in the left null space of V, which is built here
    vector by vector (Gram–Schmidt: first the columns of V, then what is left of each axis)."""
    spanned: list[Array] = []
    for column in values.T:
        _add(spanned, column)
    basis, null = list(spanned), []
    for axis in np.eye(len(values)):
        if _add(basis, axis):
            null.append(basis[-1])
    return alpha - sum((alpha @ vector) * vector for vector in null)


def _add(basis: list[Array], vector: Array) -> bool:
    rest = vector.astype(float)
    for _ in range(2):  # twice is enough
        for known in basis:
            rest = rest - (rest @ known) * known
    size = math.sqrt(rest @ rest)
    if size > 1e-9 * (1 + math.sqrt(vector @ vector)):
        basis.append(rest / size)
        return True
    return False
