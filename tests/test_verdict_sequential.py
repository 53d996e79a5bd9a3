"""Alpha spending: what is spent, published boundaries, and how often many looks go wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from heedful.errors import HeedfulError
from heedful.verdict import level_at, spent


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
        levels = [level_at(look, looks, 0.05) for look in range(1, looks + 1)]
        wrong += any(_above(*each) for each in zip(parts, levels, strict=True))
        naive += any(_above(part, 0.05) for part in parts)
    assert wrong / runs < 0.065
    assert naive / runs > 0.1


def test_levels_are_below_alpha_and_ordered() -> None:
    levels = [level_at(look, 4, 0.05) for look in range(1, 5)]
    assert all(0 < level < 0.05 for level in levels)
    assert sum(levels) > 0.05  # looks are correlated: better than a share for each
    assert level_at(2, 4, 0.005) < level_at(2, 4, 0.05)


def _above(values: np.ndarray, level: float) -> bool:
    """Whether one look would say that the mean is above a half."""
    return float(stats.ttest_1samp(values, 0.5, alternative="greater").pvalue) < level


def test_a_look_that_was_not_planned_is_refused() -> None:
    with pytest.raises(HeedfulError, match="count looks from 1"):
        level_at(3, 2, 0.05)
