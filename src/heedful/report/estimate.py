"""A number with its interval: over trainings where there are several, else over texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from scipy import stats

LEVEL = 0.975


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
    found = _estimate(lines)
    if not share:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def _estimate(lines: pd.DataFrame) -> Estimate:
    means = [float(value) for value in lines["mean"]]
    texts = int(lines["n"].min())
    if len(means) > 1:
        return Estimate(*student(means), texts, len(means))
    low, high = float(lines["low"].iloc[0]), float(lines["high"].iloc[0])
    return Estimate(means[0], low, high, texts, 1)


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
    count = len(values)
    mean = math.fsum(values) / count
    spread = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = float(stats.t.ppf(LEVEL, count - 1)) * math.sqrt(spread / count)
    return mean, mean - half, mean + half
