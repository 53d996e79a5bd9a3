"""The brute-force adversary itself: by hand, and never below random feasible points."""

from __future__ import annotations

import math
import random

import pytest

from reference.adversary import max_jsd, vertices
from reference.distance import jsd


def test_without_a_band_it_is_the_least_attended_token() -> None:
    q = [0.5, 0.3, 0.2]
    found = max_jsd(q, [1.0, 2.0, 3.0])
    assert found is not None and found[1] == [0.0, 0.0, 1.0]
    assert found[0] == pytest.approx(jsd([0, 0, 1], q))


def test_vertices_by_hand() -> None:
    # z = (0, 1, 3), α·z ≤ 1: tokens 0 and 1, and the mix of 0 and 2 that sits on the bound.
    found = {tuple(map(float, v)) for v in vertices([0.0, 1.0, 3.0], -math.inf, 1.0)}
    assert found == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (2 / 3, 0.0, 1 / 3)}


def test_degenerate_bands() -> None:
    point = {tuple(map(float, v)) for v in vertices([0.0, 1.0, 2.0], 1.0, 1.0)}
    assert point == {(0.0, 1.0, 0.0), (0.5, 0.0, 0.5)}
    ties = {tuple(map(float, v)) for v in vertices([1.0, 1.0, 1.0], 1.0, 1.0)}
    assert ties == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)}
    assert max_jsd([0.5, 0.5], [0.0, 1.0], 2.0, 3.0) is None
    assert max_jsd([1.0], [0.3], 0.0, 1.0) == (0.0, [1.0])


@pytest.mark.parametrize("seed", range(12))
def test_no_feasible_point_is_better(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 5)
    z = [float(rng.randint(-2, 2)) if seed % 2 else rng.gauss(0, 1) for _ in range(size)]
    q = simplex(rng, size)
    score = sum(a * b for a, b in zip(q, z, strict=True))
    low, high = score - 0.2, score + 0.3
    best = max_jsd(q, z, low, high)
    assert best is not None
    for _ in range(2000):
        alpha = simplex(rng, size)
        # Pull towards q, which is feasible, until the point is too.
        while not low <= sum(a * b for a, b in zip(alpha, z, strict=True)) <= high:
            alpha = [(a + b) / 2 for a, b in zip(alpha, q, strict=True)]
        assert jsd(alpha, q) <= best[0] + 1e-12


def simplex(rng: random.Random, size: int) -> list[float]:
    mass = [rng.expovariate(1.0) ** 3 for _ in range(size)]
    return [value / sum(mass) for value in mass]
