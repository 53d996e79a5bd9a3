"""The percentile bootstrap of a mean, one resample at a time (Efron & Tibshirani 1993)."""

from __future__ import annotations

import math

import numpy as np


def mean_interval(
    values: list[float], seed: int, resamples: int, level: float
) -> tuple[float, float]:
    """Draw n examples with replacement, average those defined, take the percentiles."""
    random = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        drawn = [values[i] for i in random.integers(0, len(values), len(values))]
        defined = [value for value in drawn if not math.isnan(value)]
        if defined:
            means.append(math.fsum(defined) / len(defined))
    return _percentile(means, (1 - level) / 2), _percentile(means, (1 + level) / 2)


def _percentile(values: list[float], share: float) -> float:
    """Linear between the order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
