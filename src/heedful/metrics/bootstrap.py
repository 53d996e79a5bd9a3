"""Percentile bootstrap intervals (Efron & Tibshirani 1993, ch. 13), without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped


class Intervals(NamedTuple):
    low: Float[np.ndarray, " m"]
    high: Float[np.ndarray, " m"]


class Interval(NamedTuple):
    low: float
    high: float


def bootstrap_means(
    values: Float[np.ndarray, "n m"], seed: int, resamples: int = 2000, level: float = 0.95
) -> Intervals:
    """Intervals of each column's mean when examples (rows) are drawn again.

    NaN means undefined and takes no part (nor does an infinity: it has no mean); a column
    with fewer than two defined values has no interval (NaN). One draw serves all columns.
    """
    values = np.asarray(values, dtype=np.float64)
    defined = np.isfinite(values)
    filled = np.where(defined, values, 0.0)
    means = [
        _weighted_means(counts, filled, defined) for counts in _counts(len(values), seed, resamples)
    ]
    enough = defined.sum(0) >= 2
    low, high = np.full((2, values.shape[1]), np.nan)
    if enough.any():
        stacked = np.concatenate(means)[:, enough]
        # A resample may miss every defined example of a sparse column: it says nothing there.
        low[enough], high[enough] = np.nanquantile(stacked, _tails(level), axis=0)
    return Intervals(low, high)


def bootstrap_statistic(
    statistic: Callable[..., float],
    arrays: tuple[Shaped[np.ndarray, "n ..."], ...],
    seed: int,
    resamples: int = 1000,
    level: float = 0.95,
) -> Interval:
    """The interval of `statistic(*arrays)` when examples are drawn again, jointly from all
    arrays; for F1 and AUC, which are no means. Undefined resamples (NaN) are left out."""
    n = len(arrays[0])
    if n < 2:
        return Interval(float("nan"), float("nan"))
    random = np.random.default_rng(seed)
    drawn = (random.integers(0, n, n) for _ in range(resamples))
    results = np.array([statistic(*(array[index] for array in arrays)) for index in drawn])
    results = results[~np.isnan(results)]
    if results.size == 0:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(results, _tails(level))
    return Interval(float(low), float(high))


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


_CHUNK = 1 << 20  # drawn indices at a time, so that memory does not grow with resamples


def _counts(n: int, seed: int, resamples: int) -> Iterator[Int[np.ndarray, "r n"]]:
    """How often each example is drawn: chunks of resamples."""
    random = np.random.default_rng(seed)
    step = max(1, _CHUNK // max(1, n))
    for start in range(0, resamples if n else 0, step):
        size = min(step, resamples - start)
        index = random.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(index.ravel(), minlength=size * n).reshape(size, n)


def _weighted_means(
    counts: Int[np.ndarray, "r n"],
    filled: Float[np.ndarray, "n m"],
    defined: Bool[np.ndarray, "n m"],
) -> Float[np.ndarray, "r m"]:
    weights = counts.astype(np.float64)
    totals, sizes = weights @ filled, weights @ defined.astype(np.float64)
    means: Float[np.ndarray, "r m"] = np.full_like(totals, np.nan)
    np.divide(totals, sizes, out=means, where=sizes > 0)
    return means
