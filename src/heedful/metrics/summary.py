"""From rows to summaries with intervals, over examples and over seeds, without torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped
from scipy import stats

_TYPES = {
    **dict.fromkeys(["site", "measure", "group"], "str"),
    **dict.fromkeys(["n", "undefined"], "int64"),
    **dict.fromkeys(["mean", "sd", "median", "low", "high"], "float64"),
}
COLUMNS = list(_TYPES)
OVER_EXAMPLES = "over examples"
OVER_SEEDS = "over seeds"
CELLS = ["corpus", "model", "seed", "probe", "measure", "group"]
NUMBERS = ["mean", "sd", "median", "low", "high", "n", "undefined"]
CONFIDENCE = 0.95


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
        of_each = rows.groupby("example", sort=True)[column].max()
        quarter = rows["example"].map(quarters(of_each))
        for number in range(1, 5):
            part = rows[quarter == number]
            if len(part):
                yield f"{column}={number}", part


def quarters(values: pd.Series) -> pd.Series:
    """The quarter, from 1 to 4, of each number; equal ones share one, undefined ones have none."""
    known = values.dropna()
    edges = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else []
    return pd.Series(np.searchsorted(edges, known) + 1, index=known.index)


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
        _weighted_means(counts, filled, defined) for counts in drawn(len(values), seed, resamples)
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
    indices = (random.integers(0, n, n) for _ in range(resamples))
    results = np.array([statistic(*(array[index] for array in arrays)) for index in indices])
    results = results[~np.isnan(results)]
    if results.size == 0:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(results, _tails(level))
    return Interval(float(low), float(high))


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


_CHUNK = 1 << 20  # drawn indices at a time, so that memory does not grow with resamples


def drawn(n: int, seed: int, resamples: int) -> Iterator[Int[np.ndarray, "r n"]]:
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


# Means over trainings that differ in their seed alone, and intervals of means and shares.


def over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Seeds put together. One seed keeps its bootstrap interval, which is over examples;
    several give the mean over seeds and Student's t-interval, which is over seeds."""
    keys = [name for name in CELLS if name != "seed"]
    lines = [
        {**dict(zip(keys, key, strict=True)), **_together(part)}
        for key, part in table.groupby(keys, sort=False)
    ]
    names = [*keys, *NUMBERS, "seeds", "seed_sd", "interval"]
    return pd.DataFrame(lines, columns=names)


def _together(part: pd.DataFrame) -> dict[str, Any]:
    counts = {"n": int(part["n"].sum()), "undefined": int(part["undefined"].fillna(0).sum())}
    defined = part[part["mean"].notna()]
    if len(defined) <= 1:
        line = (defined if len(defined) else part).iloc[0]
        numbers = {name: float(line[name]) for name in ("mean", "sd", "median", "low", "high")}
        once = {"seeds": len(defined), "seed_sd": math.nan, "interval": OVER_EXAMPLES}
        return {**numbers, **counts, **once}
    mean, sd = float(defined["mean"].mean()), float(defined["mean"].std(ddof=1))
    low, high = t_interval(mean, sd, len(defined))
    numbers = {
        "mean": mean,
        "sd": float(defined["sd"].mean()),  # the spread of texts within a seed, as papers print
        "median": float(defined["median"].mean()),
        "low": low,
        "high": high,
    }
    return {**numbers, **counts, "seeds": len(defined), "seed_sd": sd, "interval": OVER_SEEDS}


def t_interval(mean: float, sd: float, count: int) -> tuple[float, float]:
    """Student's interval of a mean of `count` values; it has no width if they are all equal."""
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * sd / math.sqrt(count)
    return mean - half, mean + half


@dataclass(frozen=True)
class Estimate:
    """`texts` is how many there were of each training, `seeds` the number of trainings."""

    mean: float
    low: float
    high: float
    texts: int
    seeds: int

    @property
    def sign(self) -> int:
        """Which side of zero the interval lies on; 0 where it holds zero, or is none."""
        return int(self.low > 0) - int(self.high < 0)


def estimate(lines: pd.DataFrame, share: bool = False) -> Estimate:
    """Of lines that differ in nothing but their training; no end of a share's interval is below
    0 or above 1."""
    means = [float(value) for value in lines["mean"]]
    if len(means) > 1:
        mean, low, high = student(means)
    else:
        mean, low, high = (float(lines[name].iloc[0]) for name in ("mean", "low", "high"))
    if share:
        low, high = max(low, 0.0), min(high, 1.0)
    return Estimate(mean, low, high, int(lines["n"].min()), len(means))


def difference(first: pd.DataFrame, second: pd.DataFrame) -> Estimate:
    """First − second. Seed by seed where both have several seeds in common; else between the
    ends of the two intervals, which is wider than it need be."""
    both = first.merge(second, on="seed", suffixes=("", "_other"))
    if len(both) > 1:
        apart = [float(value) for value in both["mean"] - both["mean_other"]]
        return Estimate(*student(apart), int(both["n"].min()), len(both))
    return between(estimate(first), estimate(second))


def between(first: Estimate, second: Estimate) -> Estimate:
    """First − second where nothing is known of what they have in common."""
    ends = first.low - second.high, first.high - second.low
    texts, seeds = min(first.texts, second.texts), min(first.seeds, second.seeds)
    return Estimate(first.mean - second.mean, *ends, texts, seeds)


def student(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and Student's interval of the mean."""
    count, mean = len(values), math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, *t_interval(mean, math.sqrt(spread), count)


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of a share among n (Wilson 1927); NaN for none. Unlike a bootstrap's, it
    does not shrink to a point where nobody, or everybody, says so."""
    if not n:
        return math.nan, math.nan
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
