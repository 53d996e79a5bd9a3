"""Alpha spending: what is spent, published boundaries, and how often many looks go wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from heedful.errors import HeedfulError
from heedful.verdict.sequential import bounds, level_at, spent


def test_one_look_spends_all() -> None:
    assert level_at(1, 1, 0.05) == 0.05
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    assert spent(0.0, 0.05) == 0.0


def test_two_looks_by_another_way() -> None:
    """The bivariate normal gives what both looks spend together."""
    edges = [float(stats.norm.isf(level_at(look, 2, 0.05))) for look in (1, 2)]
    together = stats.multivariate_normal([0, 0], [[1, math.sqrt(0.5)], [math.sqrt(0.5), 1]])
    assert 1 - together.cdf(edges) == pytest.approx(0.05, abs=1e-4)
    assert level_at(1, 2, 0.05) == pytest.approx(spent(0.5, 0.05))


def test_looking_often_goes_wrong_no_more_often() -> None:
    """At the threshold itself, any look decides wrongly in at most alpha of the runs; plain
    bounds at every look would do so far more often."""
    random = np.random.default_rng(0)
    looks, runs = 5, 800
    wrong = naive = 0
    for _ in range(runs):
        values = random.normal(0.5, 1, 40 * looks)
        parts = [values[: 40 * look] for look in range(1, looks + 1)]
        wrong += any(bounds(p, i, looks, 0.05)[0] > 0.5 for i, p in enumerate(parts, 1))
        naive += any(bounds(p, 1, 1, 0.05)[0] > 0.5 for p in parts)
    assert wrong / runs < 0.065
    assert naive / runs > 0.1


def test_levels_are_below_alpha_and_ordered() -> None:
    levels = [level_at(look, 4, 0.05) for look in range(1, 5)]
    assert all(0 < level < 0.05 for level in levels)
    assert sum(levels) > 0.05  # looks are correlated: better than a share for each
    assert level_at(2, 4, 0.005) < level_at(2, 4, 0.05)


def test_undefined_values_take_no_part() -> None:
    values = np.array([0.0, 1.0, 0.5, math.nan])
    assert bounds(values, 1, 2, 0.05) == bounds(values[:3], 1, 2, 0.05)
    assert bounds(values[:1], 1, 2, 0.05) == (-math.inf, math.inf)
    with pytest.raises(HeedfulError, match="count looks from 1"):
        level_at(3, 2, 0.05)
