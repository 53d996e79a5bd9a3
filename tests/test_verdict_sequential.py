"""Alpha spending: what is spent, published boundaries, and how often many looks go wrong."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heedful.errors import HeedfulError
from heedful.verdict import (
    Sample,
    cell,
    compare_with_threshold,
    first,
    level_at,
    look_sizes,
    sample,
    spent,
)

QUARTERS = (0.25, 0.5, 0.75, 1.0)
HALVES = (0.125, 0.25, 0.5, 1.0)


def levels(shares: tuple[float, ...], alpha: float = 0.05) -> list[float]:
    return [level_at(shares[:look], alpha) for look in range(1, len(shares) + 1)]


def test_one_look_spends_all() -> None:
    assert level_at((1.0,), 0.05) == 0.05
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    assert spent(0.0, 0.05) == 0.0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_two_looks_by_another_way(share: float) -> None:
    """The bivariate normal gives what both looks spend together."""
    edges = [float(stats.norm.isf(level)) for level in levels((share, 1.0))]
    apart = math.sqrt(share)
    together = stats.multivariate_normal([0, 0], [[1, apart], [apart, 1]])
    assert 1 - together.cdf(edges) == pytest.approx(0.05, abs=1e-4)
    assert level_at((share,), 0.05) == pytest.approx(spent(share, 0.05))


def test_published_boundaries() -> None:
    """Lan & DeMets' Pocock-like spending at five even looks, two-sided 0.05: the boundaries that
    books print (2.44, 2.43, 2.41, 2.40, 2.39)."""
    edges = [float(stats.norm.isf(level)) for level in levels((0.2, 0.4, 0.6, 0.8, 1.0), 0.025)]
    assert edges == pytest.approx([2.44, 2.43, 2.41, 2.40, 2.39], abs=0.006)


@pytest.mark.parametrize("shares", [QUARTERS, HALVES, (0.1, 0.11, 0.8, 0.801, 1.0)])
def test_looking_often_goes_wrong_no_more_often(shares: tuple[float, ...]) -> None:
    """A score without drift crosses a boundary in alpha of the runs; plain bounds at every look
    would be crossed far more often."""
    random = np.random.default_rng(0)
    steps = np.sqrt(np.diff(shares, prepend=0))
    scores = np.cumsum(random.normal(size=(200_000, len(shares))) * steps, axis=1)
    scores /= np.sqrt(shares)
    edges = stats.norm.isf(levels(shares))
    assert (scores > edges).any(1).mean() == pytest.approx(0.05, abs=0.0016)
    assert (scores > stats.norm.isf(0.05)).any(1).mean() > 0.09


def test_bounds_of_examples_go_wrong_no_more_often() -> None:
    """The bounds that decide, with the threshold as the mean: who stops at the first look that is
    clear is wrong in about alpha of the runs, and without its price in far more."""
    random, sizes, alpha, runs = np.random.default_rng(1), look_sizes(100), 0.05, 200
    priced = levels(tuple(size / 100 for size in sizes), alpha)
    names = [str(number) for number in range(100)]
    wrong = naive = 0
    for run in range(runs):
        values = random.normal(0.5, 2, 100)
        looks = [_sample(names[:size], values[:size]) for size in sizes]

        def decides(levels: list[float], looks: list[Sample] = looks, run: int = run) -> bool:
            compared = (
                compare_with_threshold(look, first, 0.5, level, 200, run)
                for look, level in zip(looks, levels, strict=True)
            )
            return any(found.low > 0.5 or found.high < 0.5 for found in compared)

        wrong += decides(priced)
        naive += decides([alpha] * len(sizes))
    assert wrong / runs <= 2 * 0.07  # either side: two bounds of alpha each
    assert naive / runs > 2 * 0.09


def _sample(names: list[str], values: np.ndarray) -> Sample:
    column = pd.Series(values, index=names)
    return sample([[cell("m", "", [("a", column)])]], {name: name for name in names})


def test_levels_are_below_alpha_and_ordered() -> None:
    found = levels(QUARTERS)
    assert all(0 < level < 0.05 for level in found)
    assert sum(found) > 0.05  # looks are correlated: better than a share for each
    assert level_at((0.25, 0.5), 0.005) < level_at((0.25, 0.5), 0.05)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6, unique=True))
def test_any_looks_spend_no_more_than_alpha(sizes: list[int]) -> None:
    """However looks fall, none is given more than may be spent by then."""
    shares = tuple(size / 400 for size in sorted(sizes))
    last = level_at(shares, 0.0125)
    assert 0 < last <= spent(shares[-1], 0.0125) * (1 + 1e-6)


@given(st.integers(1, 50_000))
def test_looks_are_at_halves_of_halves(examples: int) -> None:
    sizes = look_sizes(examples)
    assert sizes[-1] == examples and list(sizes) == sorted(set(sizes)) and len(sizes) <= 6
    assert all(size >= 25 for size in sizes[:-1])
    for size, following in pairwise(sizes):
        assert following in (2 * size, 2 * size - 1)


def test_usual_looks() -> None:
    assert look_sizes(200) == (25, 50, 100, 200)
    assert look_sizes(50) == (25, 50) and look_sizes(48) == (48,) and look_sizes(1) == (1,)
    assert look_sizes(20_000)[0] == 625


@pytest.mark.parametrize("shares", [(), (0.5, 0.4), (0.0, 1.0), (0.5, 1.2), (0.5, 0.5)])
def test_impossible_looks_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(HeedfulError, match="growing shares"):
        level_at(shares, 0.05)
