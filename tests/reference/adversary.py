"""The exact ε-max JSD by brute force over the vertices of a polytope.

Maximise JSD(α, q) over {α ≥ 0, Σ α = 1, L ≤ α·z ≤ U}. JSD is convex in α, so its maximum
over a polytope is at a vertex (protocols §9.3). A vertex is a feasible point where T linearly
independent constraints are tight: Σ α = 1 and T − 1 of {α_t = 0, α·z = L, α·z = U}. This file
tries every choice and knows nothing of "one or two tokens"; that is what it is there to check.

Everything is done in fractions, so ties in z, bands of no width (L = U) and vertices that
touch a bound need no tolerance: floats are fractions, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from reference.distance import jsd

Row = tuple[list[Fraction], Fraction]  # coefficients and right-hand side


def max_jsd(
    q: list[float], z: list[float], low: float = -math.inf, high: float = math.inf
) -> tuple[float, list[float]] | None:
    """The largest JSD(α, q) and an α that reaches it; None if nothing is feasible."""
    best: tuple[float, list[float]] | None = None
    for vertex in vertices(z, low, high):
        alpha = [float(weight) for weight in vertex]
        value = jsd(alpha, q)
        if best is None or value > best[0]:
            best = value, alpha
    return best


def vertices(z: list[float], low: float, high: float) -> Iterator[list[Fraction]]:
    """Every vertex, some of them more than once where constraints coincide."""
    scores = [Fraction(value) for value in z]
    size = len(z)
    simplex: Row = ([Fraction(1)] * size, Fraction(1))
    walls: list[Row] = [
        ([Fraction(int(i == t)) for i in range(size)], Fraction(0)) for t in range(size)
    ]
    walls += [(scores, Fraction(bound)) for bound in (low, high) if math.isfinite(bound)]
    for active in combinations(walls, size - 1):
        alpha = _solve([simplex, *active])
        if alpha is not None and _feasible(alpha, scores, low, high):
            yield alpha


def _feasible(alpha: list[Fraction], z: list[Fraction], low: float, high: float) -> bool:
    score = sum((a * b for a, b in zip(alpha, z, strict=True)), Fraction(0))
    return min(alpha) >= 0 and low <= score <= high


def _solve(rows: list[Row]) -> list[Fraction] | None:
    """Gauss-Jordan on a square system; None where it is singular (no vertex)."""
    matrix = [[*coefficients, right] for coefficients, right in rows]
    size = len(matrix)
    for column in range(size):
        pivot = next((r for r in range(column, size) if matrix[r][column] != 0), None)
        if pivot is None:
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        scale = matrix[column][column]
        matrix[column] = [entry / scale for entry in matrix[column]]
        for r in range(size):
            factor = matrix[r][column]
            if r != column and factor != 0:
                pairs = zip(matrix[r], matrix[column], strict=True)
                matrix[r] = [a - factor * b for a, b in pairs]
    return [row[-1] for row in matrix]
