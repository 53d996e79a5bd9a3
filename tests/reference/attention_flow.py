"""Attention flow of one small text, by trying all cuts: the smallest one is the largest flow."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def attention_flow(row: list[float], layers: list[Array]) -> list[float]:
    """Abnar & Zuidema 2020, section 3.2: edges of ½ W + ½ I; `layers[h, n, n]`, the last first."""
    n = len(row)
    steps = [
        [
            [0.5 * sum(head[i][j] for head in weights) / len(weights) + 0.5 * (i == j)
             for j in range(n)]
            for i in range(n)
        ]
        for weights in layers
    ]  # fmt: skip
    return [min(_cuts(row, steps, token)) for token in range(n)]


def _cuts(row: list[float], steps: list[list[list[float]]], sink: int):  # type: ignore[no-untyped-def]
    """Every choice of positions on the source's side; other tokens than the sink are there, too."""
    n = len(row)
    last = [j != sink for j in range(n)]
    for sides in product([True, False], repeat=n * len(steps)):
        levels = [sides[i : i + n] for i in range(0, len(sides), n)] + [last]
        cut = [capacity for capacity, side in zip(row, levels[0], strict=True) if not side]
        for above, step, below in zip(levels, steps, levels[1:], strict=False):
            cut += [step[i][j] for i in range(n) for j in range(n) if above[i] and not below[j]]
        yield math.fsum(cut)
