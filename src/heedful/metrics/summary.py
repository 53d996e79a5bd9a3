"""From rows to summaries with bootstrap intervals, without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

_TYPES = {
    **dict.fromkeys(["site", "measure", "group"], "str"),
    **dict.fromkeys(["n", "undefined"], "int64"),
    **dict.fromkeys(["mean", "sd", "median", "low", "high"], "float64"),
}
COLUMNS = list(_TYPES)


def summarise(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """One line per site, measure and group, over examples.

    The unit is the example: its rows (heads, queries, draws) are averaged first, since they
    are not independent, and examples are what the bootstrap draws again. `n` counts examples
    with a defined value, `undefined` the rows without one (NaN or infinite). Groups are
    `all`, the predicted classes, and quarters of each site's examples by length (`length=1`
    the shortest) and by the prediction's probability (`confidence=1` the least sure; empty
    quarters, which ties make, are left out). `sd` is between examples (n − 1).
    """
    rows = rows.assign(value=rows["value"].where(np.isfinite(rows["value"])))
    lines = [
        line
        for _, of_site in rows.groupby("site", sort=True)
        for group, part in _groups(of_site)
        for line in _lines(part, group, seed)
    ]
    table = pd.DataFrame(lines, columns=COLUMNS).astype(_TYPES)
    # Stable, so groups keep the order they come in: class=10 after class=2.
    return table.sort_values(["site", "measure"], kind="stable", ignore_index=True)


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Parts of one site's rows, in the order they are shown."""
    yield "all", rows
    for predicted, part in rows.groupby("predicted", sort=True):
        yield f"class={predicted}", part
    for column in ("length", "confidence"):
        quarter = _quarters(rows, column)
        for number in range(1, 5):
            part = rows[quarter == number]
            if len(part):
                yield f"{column}={number}", part


def _quarters(rows: pd.DataFrame, column: str) -> pd.Series:
    """Each row's quarter of the examples by a number of theirs; equal ones share a quarter."""
    of_each = rows.groupby("example", sort=True)[column].max()
    edges = np.quantile(of_each, [0.25, 0.5, 0.75])
    quarters = pd.Series(np.searchsorted(edges, of_each) + 1, index=of_each.index)
    return rows["example"].map(quarters)


def _lines(rows: pd.DataFrame, group: str, seed: int) -> Iterator[dict[str, str | int | float]]:
    """The lines of one site and group: one bootstrap for all measures."""
    means = _example_means(rows)
    low, high = bootstrap_means(means.to_numpy(), seed)
    undefined = rows["value"].isna().groupby(rows["measure"]).sum()
    for column, measure in enumerate(means.columns):
        values = means[measure].dropna()
        yield {
            "site": str(rows["site"].iloc[0]),
            "measure": str(measure),
            "group": group,
            "n": len(values),
            "undefined": int(undefined[measure]),
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)),
            "median": float(values.median()),
            "low": float(low[column]),
            "high": float(high[column]),
        }


def _example_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Examples down, measures across. Rows are ordered by value first: a sum of floats
    depends on its order, and the summary must not depend on the order of rows."""
    ordered = rows.sort_values("value", kind="stable")
    means = ordered.groupby(["example", "measure"], sort=True)["value"].mean()
    return means.unstack("measure").sort_index()


# Percentile bootstrap intervals (Efron & Tibshirani 1993, ch. 13), without torch.


class Intervals(NamedTuple):
    """The ends of an interval for each of several columns."""

    low: Float[np.ndarray, " m"]
    high: Float[np.ndarray, " m"]


class Interval(NamedTuple):
    """The ends of one interval."""

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
