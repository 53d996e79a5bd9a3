"""Means over trainings that differ in their seed alone, and intervals of means and shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

OVER_EXAMPLES = "over examples"
OVER_SEEDS = "over seeds"
CELLS = ["corpus", "model", "seed", "probe", "measure", "group"]
NUMBERS = ["mean", "sd", "median", "low", "high", "n", "undefined"]
CONFIDENCE = 0.95


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
