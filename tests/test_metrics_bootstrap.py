"""Bootstrap intervals against one resample at a time, by coverage, and by their properties."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from heedful.metrics import bootstrap_means, bootstrap_statistic, summary
from reference import bootstrap as reference


def test_equal_to_one_resample_at_a_time() -> None:
    values = np.random.default_rng(0).normal(size=(17, 3))
    values[3:9, 1] = np.nan
    values[1:, 2] = np.nan
    values[5, 2] = 4.0
    low, high = bootstrap_means(values, seed=5, resamples=200, level=0.9)
    for column in range(3):
        expected = reference.mean_interval(values[:, column].tolist(), 5, 200, 0.9)
        assert (low[column], high[column]) == pytest.approx(expected, rel=1e-12)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    whole = bootstrap_means(values, seed=1)
    monkeypatch.setattr(summary, "_CHUNK", 100)
    np.testing.assert_allclose(bootstrap_means(values, seed=1), whole, rtol=1e-12)


def test_the_seed_decides() -> None:
    values = np.random.default_rng(0).normal(size=(30, 2))
    first = bootstrap_means(values, seed=1)
    np.testing.assert_array_equal(bootstrap_means(values, seed=1), first)
    assert not np.array_equal(bootstrap_means(values, seed=2), first)


def test_a_column_does_not_depend_on_its_neighbours() -> None:
    values = np.random.default_rng(0).normal(size=(30, 4))
    values[::3, 2] = np.nan
    low, _ = bootstrap_means(values, seed=1)
    alone, _ = bootstrap_means(values[:, :1], seed=1)
    np.testing.assert_allclose(low[:1], alone, rtol=1e-12)


def test_constant_sparse_and_empty_columns() -> None:
    nan = math.nan
    values = np.array([[2.0, nan, 1.0, math.inf], [2.0, nan, nan, 1.0], [2.0, nan, nan, 3.0]])
    low, high = bootstrap_means(values, seed=0)
    np.testing.assert_array_equal(low, [2.0, nan, nan, 1.0])  # an infinity has no mean
    np.testing.assert_array_equal(high, [2.0, nan, nan, 3.0])
    assert bootstrap_means(np.zeros((0, 2)), seed=0).low.shape == (2,)


def test_the_interval_is_the_normal_one_for_a_large_sample() -> None:
    values = np.random.default_rng(3).exponential(size=(4000, 1))
    low, high = bootstrap_means(values, seed=0)
    half = 1.96 * values.std() / math.sqrt(4000)
    assert low[0] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high[0] == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_a_statistic_is_resampled_jointly() -> None:
    x = np.random.default_rng(0).normal(size=40)
    interval = bootstrap_statistic(lambda a, b: float(np.abs(a - b).max()), (x, x.copy()), seed=0)
    assert interval == (0.0, 0.0)
    mean = bootstrap_statistic(lambda a: float(a.mean()), (x,), seed=5, resamples=200)
    assert mean == pytest.approx(reference.mean_interval(x.tolist(), 5, 200, 0.95), rel=1e-12)


def test_undefined_resamples_of_a_statistic_are_left_out() -> None:
    x = np.array([1.0, -1.0])
    interval = bootstrap_statistic(lambda a: math.nan if a.min() < 0 else 1.0, (x,), seed=0)
    assert interval == (1.0, 1.0)
    assert all(map(math.isnan, bootstrap_statistic(lambda a: math.nan, (x,), seed=0)))
    assert all(map(math.isnan, bootstrap_statistic(lambda a: 1.0, (x[:1],), seed=0)))


def test_summaries_need_no_torch() -> None:
    code = (
        "import sys; import heedful.metrics, heedful.metrics.summary, heedful.metrics.flips;"
        "sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
