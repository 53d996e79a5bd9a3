"""The statistics of the verdict, one resample and one example at a time, in plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Row = Sequence[float]


def position(rows: Sequence[Row]) -> float:
    """(value − floor)/(ceiling − floor) of the means of (value, floor, ceiling)."""
    value, floor, ceiling = (math.fsum(row[i] for row in rows) / len(rows) for i in range(3))
    return (value - floor) / (ceiling - floor)


def position_error(clusters: Sequence[Sequence[Row]]) -> float:
    """Linearised: each cluster's sum of (v − f) − r·(c − f), in units of n times the gap."""
    rows = [row for cluster in clusters for row in cluster]
    ratio = position(rows)
    gap = math.fsum(row[2] - row[1] for row in rows)
    pulls = [
        math.fsum((v - f) - ratio * (c - f) for v, f, c in cluster) / gap for cluster in clusters
    ]
    g = len(clusters)
    return math.sqrt(g / (g - 1) * math.fsum(pull**2 for pull in pulls))


def studentised(
    clusters: Sequence[Sequence[Row]], threshold: float, alpha: float, resamples: int, seed: int
) -> tuple[float, float, float, float]:
    """One-sided bounds and both p-values by drawing whole clusters again."""
    whole = [row for cluster in clusters for row in cluster]
    value, error = position(whole), position_error(clusters)
    random = np.random.default_rng(seed)
    t = []
    for _ in range(resamples):
        drawn = [clusters[i] for i in random.integers(0, len(clusters), len(clusters))]
        again = position([row for cluster in drawn for row in cluster])
        t.append((again - value) / position_error(drawn))
    t.sort()
    place = math.ceil((1 - alpha) * (resamples + 1)) - 1
    observed = (value - threshold) / error
    low, high = value - t[place] * error, value - t[resamples - 1 - place] * error
    above = (1 + sum(each >= observed for each in t)) / (1 + resamples)
    below = (1 + sum(each <= observed for each in t)) / (1 + resamples)
    return low, high, above, below


def holm(p_values: Sequence[float]) -> list[float]:
    """By the definition: the largest of (m − j + 1)·p over all that are at most as large."""
    m = len(p_values)
    ranked = sorted(p_values)
    return [min(1.0, max((m - j) * q for j, q in enumerate(ranked) if q <= p)) for p in p_values]
