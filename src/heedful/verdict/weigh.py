"""Estimates against a threshold: one-sided bounds and p-values over clusters and seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import stats

from heedful.verdict.formulas import Formula
from heedful.verdict.resample import Estimates, Sample, estimate, resampled


@dataclass(frozen=True)
class Weighed:
    """An estimate against its threshold. `low` and `high` are one-sided bounds at alpha;
    `p_above` speaks against "at or below the threshold", `p_below` against the reverse.
    `error` is over examples, `seed_error` over checkpoints (0 where there is only one)."""

    estimate: float
    low: float
    high: float
    p_above: float
    p_below: float
    error: float
    seed_error: float
    clusters: int
    checkpoints: int


def weigh(
    sample: Sample, formula: Formula, threshold: float, alpha: float, resamples: int, seed: int
) -> Weighed:
    """A studentised cluster bootstrap; with several checkpoints, crossed effects."""
    if sample.clusters < 2:
        return _nothing(sample, formula)
    found = estimate(sample, formula)
    if len(sample.checkpoints) > 1:
        weighed = _crossed(found, threshold, alpha, sample.clusters)
    else:
        again = resampled(sample, formula, resamples, seed)
        weighed = _studentised(found, again, threshold, alpha, sample.clusters)
    return _guarded(weighed, threshold, alpha)


def closed(sample: Sample, formula: Formula, alpha: float) -> tuple[float, float, float]:
    """Estimate and one-sided bounds without resampling."""
    found = closed_form(sample, formula, alpha)
    return found.estimate, found.low, found.high


def closed_form(sample: Sample, formula: Formula, alpha: float) -> Weighed:
    """An estimate against 0 without resampling (Student's t over clusters, and over checkpoints
    where there are several), for the many small groups that are shown, and to choose what can be
    used."""
    if sample.clusters < 2:
        return _nothing(sample, formula)
    found, g = estimate(sample, formula), sample.clusters
    if len(sample.checkpoints) > 1:
        return _crossed(found, 0.0, alpha, g)
    value, error = float(found.value[0]), float(found.error[0])
    half = float(stats.t.ppf(1 - alpha, g - 1)) * error
    t = float(_ratio(found.value, found.error)[0])
    above, below = float(stats.t.sf(t, g - 1)), float(stats.t.cdf(t, g - 1))
    return Weighed(value, value - half, value + half, above, below, error, 0.0, g, 1)


def estimate_of(values: Float[np.ndarray, "n c"], formula: Formula) -> float:
    """A formula of plain means over examples."""
    return float(formula(values.mean(0, keepdims=True)).value[0]) if len(values) else math.nan


def _studentised(
    found: Estimates, again: Estimates, threshold: float, alpha: float, clusters: int
) -> Weighed:
    value, error = float(found.value[0]), float(found.error[0])
    # a resample that misses the few texts that differ has no error of its own: its distance
    # would be infinitely many errors, and one text among a hundred would end all certainty
    t = _ratio(again.value - value, np.maximum(again.error, _LEAST_ERROR * error))
    t = np.sort(t[~np.isnan(t)])
    observed = float(_ratio(np.array([value - threshold]), np.array([error]))[0])
    if len(t) == 0 or math.isnan(observed):
        return Weighed(value, math.nan, math.nan, 1.0, 1.0, error, 0.0, clusters, 1)
    return Weighed(
        value,
        low=value - _times(_upper(t, alpha), error),
        high=value + _times(_upper(-t[::-1], alpha), error),
        p_above=(1 + int((t >= observed).sum())) / (1 + len(t)),
        p_below=(1 + int((t <= observed).sum())) / (1 + len(t)),
        error=error,
        seed_error=0.0,
        clusters=clusters,
        checkpoints=1,
    )


def _crossed(found: Estimates, threshold: float, alpha: float, clusters: int) -> Weighed:
    """Seeds and examples as crossed effects. The seeds' part has S − 1 degrees of freedom,
    the examples' G − 1; Satterthwaite's are those of their sum. What seeds and examples do
    together is in both parts, so the sum errs to the wide side."""
    seeds = len(found.by_checkpoint)
    value, error = float(found.value[0]), float(found.error[0])
    seed_error = float(found.by_checkpoint[:, 0].std(ddof=1)) / math.sqrt(seeds)
    whole = math.hypot(error, seed_error)
    parts = seed_error**4 / (seeds - 1) + error**4 / (clusters - 1)
    freedom = whole**4 / parts if parts > 0 else float(seeds - 1)
    observed = float(_ratio(np.array([value - threshold]), np.array([whole]))[0])
    half = float(stats.t.ppf(1 - alpha, freedom)) * whole
    above, below = float(stats.t.sf(observed, freedom)), float(stats.t.cdf(observed, freedom))
    if math.isnan(observed):
        half, above, below = math.nan, 1.0, 1.0
    return Weighed(
        value, value - half, value + half, above, below, error, seed_error, clusters, seeds
    )


def _guarded(weighed: Weighed, threshold: float, alpha: float) -> Weighed:
    """What was never seen in G clusters may still happen: with no more than a share q of them
    one unit away, nothing is seen with probability (1 − q)^G. So no p-value is below
    (1 − distance)^G and no bound nearer than 1 − alpha^(1/G) (the "rule of three"). It
    matters where nearly all values are equal, and there a bootstrap is far too sure."""
    g = weighed.clusters
    distance = abs(weighed.estimate - threshold)
    unseen = max(0.0, 1 - distance) ** g if math.isfinite(distance) else 1.0
    reach = 1 - alpha ** (1 / g)
    return Weighed(
        weighed.estimate,
        min(weighed.low, weighed.estimate - reach),
        max(weighed.high, weighed.estimate + reach),
        max(weighed.p_above, unseen),
        max(weighed.p_below, unseen),
        weighed.error,
        weighed.seed_error,
        g,
        weighed.checkpoints,
    )


def _nothing(sample: Sample, formula: Formula) -> Weighed:
    value = float(estimate(sample, formula).value[0]) if sample.clusters else math.nan
    nan = math.nan
    seeds = len(sample.checkpoints)
    return Weighed(value, nan, nan, 1.0, 1.0, nan, 0.0, sample.clusters, seeds)


_LEAST_ERROR = 0.25
"""A resample's error counts at least this share of the sample's own."""


def _ratio(
    top: Float[np.ndarray, " r"], bottom: Float[np.ndarray, " r"]
) -> Float[np.ndarray, " r"]:
    """Where nothing varies, a difference is infinitely many errors away, and none is 0."""
    size = np.where(bottom > 0, bottom, 1.0)
    sure = np.where(top == 0, 0.0, np.copysign(np.inf, top))
    ratio = np.where(bottom > 0, top / size, sure)
    undefined = np.isnan(top) | np.isnan(bottom)
    result: Float[np.ndarray, " r"] = np.where(undefined, np.nan, ratio)
    return result


def _upper(t: Float[np.ndarray, " r"], alpha: float) -> float:
    """The value at most a share alpha of the sorted t reach, counting one more than drawn;
    infinite where that is less than one of them: too few were drawn for such an alpha."""
    index = math.ceil((1 - alpha) * (len(t) + 1)) - 1
    return float(t[max(index, 0)]) if index < len(t) else math.inf


def _times(factor: float, error: float) -> float:
    return 0.0 if error == 0 else factor * error
