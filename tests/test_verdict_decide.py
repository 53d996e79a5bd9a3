"""Bounds, p-values and Holm against plain loops, by coverage, and as mirror images."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.verdict import (
    Cell,
    Comparison,
    Decision,
    Sample,
    Statement,
    closed,
    compare_with_threshold,
    difference,
    examples_needed,
    first,
    how_many,
    needed,
    position,
    rejected,
    sample,
)
from reference import verdict as reference


def one_cell(values: np.ndarray, per_cluster: int = 1) -> Sample:
    names = tuple(f"e{i:04d}" for i in range(len(values)))
    clusters = pd.Series([f"c{i // per_cluster:04d}" for i in range(len(values))], index=names)
    return sample([[Cell("m", "", ("v",), names, values, 0)]], clusters)


def triples(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal([0.6, 0.1, 0.9], 0.2, (n, 3))


@pytest.mark.parametrize("per_cluster", [1, 3])
def test_equal_to_one_resample_at_a_time(per_cluster: int) -> None:
    values = triples(30)
    found = compare_with_threshold(one_cell(values, per_cluster), position, 0.55, 0.1, 199, seed=4)
    rows = values.tolist()
    clusters = [rows[i : i + per_cluster] for i in range(0, 30, per_cluster)]
    low, high, above, below = reference.studentised(clusters, 0.55, 0.1, 199, 4)
    assert found.error == pytest.approx(reference.position_error(clusters))
    # The reach of what was never seen may widen a bound or raise a p-value, never the reverse.
    reach = 1 - 0.1 ** (1 / len(clusters))
    assert found.low == pytest.approx(min(low, found.estimate - reach))
    assert found.high == pytest.approx(max(high, found.estimate + reach))
    unseen = (1 - abs(found.estimate - 0.55)) ** len(clusters)
    assert (found.p_above, found.p_below) == pytest.approx((max(above, unseen), max(below, unseen)))


def test_a_cluster_counts_once() -> None:
    values = np.repeat(np.random.default_rng(0).normal(0, 1, (20, 1)), 50, axis=0)
    alone = closed(one_cell(values[::50]), first, 0.05)
    assert closed(one_cell(values, per_cluster=50), first, 0.05) == pytest.approx(alone)


def test_two_examples_by_hand() -> None:
    value, low, high = closed(one_cell(np.array([[1.0], [3.0]])), first, 0.05)
    # Mean 2, standard error 1, and 6.314 is the 95% quantile of t with one degree of freedom.
    assert (value, low, high) == pytest.approx((2.0, 2 - 6.3138, 2 + 6.3138), abs=1e-3)


@pytest.mark.parametrize("n", [15, 60])
def test_one_sided_bounds_cover(n: int) -> None:
    """Skewed values: the truth lies beyond each bound in about 5% of the samples."""
    random = np.random.default_rng(1)
    missed = np.zeros(2)
    for _ in range(400):
        values = random.exponential(0.5, (n, 2)) + np.array([0.2, 0.0])
        found = compare_with_threshold(one_cell(values), difference, 0.2, 0.05, 199, seed=0)
        missed += [found.low > 0.2, found.high < 0.2]
    assert (missed / 400 < 0.085).all()


def test_nothing_that_varies_is_not_certainty() -> None:
    """Zero in 100 leaves room for 3 in 100: the rule of three."""
    found = compare_with_threshold(
        one_cell(np.zeros((100, 2))), difference, 0.02, 0.05, 200, seed=0
    )
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 100))
    assert found.p_below == pytest.approx(0.98**100)


def test_seeds_and_examples_are_crossed() -> None:
    """Equal examples in two checkpoints: only the seeds' part is left, with one degree."""
    names = tuple(f"e{i}" for i in range(40))
    clusters = pd.Series(names, index=names)
    cells = [[Cell("m", "", ("v",), names, np.full((40, 1), mean), 0)] for mean in (0.2, 0.6)]
    found = compare_with_threshold(sample(cells, clusters), first, 0.0, 0.05, 200, seed=0)
    assert found.seed_error == pytest.approx(0.2)
    assert found.low == pytest.approx(0.4 - 6.3138 * 0.2, abs=1e-3)
    assert found.checkpoints == 2
    closed_form = closed(sample(cells, clusters), first, 0.05)
    assert closed_form == pytest.approx((found.estimate, found.low, found.high))


def test_more_seeds_are_surer() -> None:
    names = tuple(f"e{i}" for i in range(40))
    clusters = pd.Series(names, index=names)
    random = np.random.default_rng(0)
    seeds = random.normal(0.6, 0.1, 8)[:, None, None] + random.normal(0, 0.05, (8, 40, 1))
    cells = [[Cell("m", "", ("v",), names, values, 0)] for values in seeds]
    few, many = (
        compare_with_threshold(sample(cells[:s], clusters), first, 0, 0.05, 200, 0) for s in (2, 8)
    )
    assert many.low > few.low


def test_holm_by_hand() -> None:
    assert reference.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert rejected([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_the_definition(p_values: list[float]) -> None:
    by_hand = reference.holm(p_values)
    for fallen, adjusted in zip(rejected(p_values, 0.05), by_hand, strict=True):
        assert fallen == (adjusted <= 0.05) or adjusted == pytest.approx(0.05)


@given(st.integers(0, 50), st.floats(0.05, 0.95))
def test_mirror_images(seed: int, threshold: float) -> None:
    """Turning floor and ceiling round turns above into below, and nothing else."""
    values = triples(25, seed)
    there = compare_with_threshold(one_cell(values), position, threshold, 0.05, 200, 0)
    back = compare_with_threshold(
        one_cell(values[:, [0, 2, 1]]), position, 1 - threshold, 0.05, 200, 0
    )
    assert back.estimate == pytest.approx(1 - there.estimate)
    assert (back.low, back.high) == pytest.approx((1 - there.high, 1 - there.low))
    assert (back.p_above, back.p_below) == pytest.approx((there.p_below, there.p_above))


def weighed(
    estimate: float, error: float, seed_error: float = 0.0, clusters: int = 100
) -> Comparison:
    return Comparison(estimate, 0, 0, 1, 1, error, seed_error, clusters, 1)


def test_examples_that_would_decide() -> None:
    # z is 1.645 + 0.842; 100·(2.4865·0.05/0.1)² = 154.6
    assert needed(weighed(0.6, 0.05), 0.5, 0.05) == 155
    assert needed(weighed(0.5, 0.05), 0.5, 0.05) is None
    assert needed(weighed(math.nan, 0.05), 0.5, 0.05) is None
    assert needed(weighed(0.6, 0.05, seed_error=0.2), 0.5, 0.05) is None
    assert needed(weighed(0.0, 0.0), 0.02, 0.05) == 149  # 0.98^149 is below 0.05
    assert needed(weighed(0.5 + 1e-12, 0.05), 0.5, 0.05) is None


def test_what_would_decide_is_told_in_examples_not_clusters() -> None:
    assert examples_needed(weighed(0.6, 0.05), 0.5, 0.05, 100) == 155
    assert examples_needed(weighed(0.6, 0.05), 0.5, 0.05, 1000) == 1550  # ten in each cluster
    assert examples_needed(weighed(0.9, 0.05), 0.5, 0.05, 1000) == 1001
    assert examples_needed(weighed(0.5, 0.05), 0.5, 0.05, 1000) is None


def test_a_single_cluster_decides_nothing() -> None:
    found = compare_with_threshold(one_cell(triples(5), per_cluster=5), position, 0.5, 0.05, 200, 0)
    assert (found.p_above, found.p_below) == (1.0, 1.0)
    assert math.isnan(found.low)


@pytest.mark.parametrize("different", [0, 1, 2, 4])
def test_a_few_texts_that_differ_do_not_end_all_certainty(different: int) -> None:
    """Nearly perfect: resamples that miss the texts that differ have no error of their own."""
    values = np.ones((96, 3))
    values[:, 1] = 0.0
    values[:different, 0] = 0.9
    names = tuple(f"text-{i}" for i in range(96))
    cell = Cell("m", "", ("a", "floor", "ceiling"), names, values, 0)
    found = compare_with_threshold(
        sample([[cell]], {name: name for name in names}), position, 0.5, 0.05, 999, 0
    )
    assert found.p_above < 0.01
    assert 0.9 < found.low <= found.estimate


@pytest.mark.parametrize(
    ("count", "shown"),
    [(7, 7), (99, 99), (100, 100), (155, 160), (160, 160), (1001, 1100), (12_345, 13_000)],
)
def test_how_many_would_decide_is_an_estimate_rounded_up(count: int, shown: int) -> None:
    open_ = Statement("importance", Decision.INCONCLUSIVE, "texts")
    assert how_many(count, open_) == f"by an estimate about {shown} examples would decide."


def test_one_more_example_is_never_said_to_decide() -> None:
    """What would decide is moved by the very examples that are asked for."""
    open_ = Statement("importance", Decision.INCONCLUSIVE, "texts", n=260)
    assert how_many(261, open_) == "by an estimate about 290 examples would decide."
    assert how_many(400, open_) == "by an estimate about 400 examples would decide."


def test_where_no_number_would_decide_the_reason_is_told() -> None:
    open_ = Statement("importance", Decision.INCONCLUSIVE, "texts", seed_error=0.0)
    assert "sits on the threshold" in how_many(None, open_)
    assert "more seeds" in how_many(None, replace(open_, seed_error=0.1))
