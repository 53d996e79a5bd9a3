"""Estimates over clusters of examples and over checkpoints: bounds, p-values, how many examples
would decide, and testing more than once (Holm's procedure).

Clusters (a document, a premise) are drawn whole and jointly for all columns, cells and
checkpoints, so that everything stays paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from heedful.metrics import drawn
from heedful.verdict.table import Cell, cell


class Value(NamedTuple):
    """What is estimated, a function of column means, with its gradient. The gradient gives every
    resample a standard error of its own (the delta method), which is what a studentised bootstrap
    needs. Means have a row per resample."""

    value: Float[np.ndarray, " r"]
    gradient: Float[np.ndarray, "r c"]


Formula = Callable[[Float[np.ndarray, "r c"]], Value]


def first(means: Float[np.ndarray, "r c"]) -> Value:
    """The mean itself."""
    gradient = np.zeros_like(means)
    gradient[:, 0] = 1.0
    return Value(means[:, 0], gradient)


def difference(means: Float[np.ndarray, "r c"]) -> Value:
    """Value − floor."""
    gradient = np.zeros_like(means)
    gradient[:, 0], gradient[:, 1] = 1.0, -1.0
    return Value(means[:, 0] - means[:, 1], gradient)


def position(means: Float[np.ndarray, "r c"]) -> Value:
    """(value − floor)/(ceiling − floor): 0 at the floor, 1 at the ceiling, whichever way the
    measure points. Undefined where floor and ceiling meet."""
    value, floor, ceiling = means[:, 0], means[:, 1], means[:, 2]
    gap = np.where(ceiling == floor, np.nan, ceiling - floor)
    ratio = (value - floor) / gap
    return Value(ratio, np.stack([1 / gap, (ratio - 1) / gap, -ratio / gap], axis=1))


Clusters = Mapping[str, str]
"""The cluster of each example."""
_POWER = 0.8  # how surely as many examples as are said to decide do
_LEAST_ERROR = 0.25  # a resample's error counts at least this share of the sample's own


@dataclass(frozen=True)
class Sums:
    """A cell summed over the examples of each cluster."""

    totals: Float[np.ndarray, "g c"]
    counts: Float[np.ndarray, " g"]


@dataclass(frozen=True)
class Sample:
    """Cells by checkpoint, all over the same clusters."""

    checkpoints: tuple[tuple[Sums, ...], ...]
    clusters: int


@dataclass(frozen=True)
class Estimates:
    """One per resample: the average over cells and checkpoints, its standard error over
    clusters, and the average over cells of each checkpoint."""

    value: Float[np.ndarray, " r"]
    error: Float[np.ndarray, " r"]
    by_checkpoint: Float[np.ndarray, "s r"]
    clusters: int


def sample(checkpoints: Sequence[Sequence[Cell]], cluster_of: Clusters) -> Sample:
    """Sum cells over clusters; clusters without a defined example take no part."""
    examples = {name for cells in checkpoints for cell in cells for name in cell.examples}
    known = np.array(sorted({cluster_of[name] for name in examples}), dtype=str)
    sums = (tuple(_sums(cell, cluster_of, known) for cell in cells) for cells in checkpoints)
    return Sample(tuple(sums), len(known))


def estimate(sample: Sample, formula: Formula) -> Estimates:
    """What the data say, as one resample that draws every cluster once."""
    return _estimate(sample, formula, np.ones((1, sample.clusters)))


def resampled(sample: Sample, formula: Formula, resamples: int, seed: int) -> Estimates:
    counts = drawn(sample.clusters, seed, resamples)
    parts = [_estimate(sample, formula, each.astype(np.float64)) for each in counts]
    return Estimates(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.error for part in parts]),
        np.concatenate([part.by_checkpoint for part in parts], axis=1),
        sample.clusters,
    )


def _sums(cell: Cell, cluster_of: Clusters, known: np.ndarray) -> Sums:
    names = np.array([cluster_of[name] for name in cell.examples], dtype=str)
    codes = np.searchsorted(known, names)
    totals = np.zeros((len(known), cell.values.shape[1]))
    np.add.at(totals, codes, cell.values)
    return Sums(totals, np.bincount(codes, minlength=len(known)).astype(np.float64))


def _estimate(sample: Sample, formula: Formula, drawn: Float[np.ndarray, "r g"]) -> Estimates:
    influence = np.zeros_like(drawn)
    values = []
    for cells in sample.checkpoints:
        parts = [_cell(sums, formula, drawn) for sums in cells]
        values.append(np.mean([value for value, _ in parts], axis=0))
        influence += np.mean([part for _, part in parts], axis=0)
    influence /= len(sample.checkpoints)
    g = sample.clusters
    spread = (drawn * influence**2).sum(1) * (g / (g - 1) if g > 1 else np.nan)
    by_checkpoint = np.stack(values)
    return Estimates(by_checkpoint.mean(0), np.sqrt(spread), by_checkpoint, g)


def _cell(
    sums: Sums, formula: Formula, drawn: Float[np.ndarray, "r g"]
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r g"]]:
    """The formula's value, and what each cluster contributes to its error."""
    size = drawn @ sums.counts
    size = np.where(size > 0, size, np.nan)[:, None]
    means = (drawn @ sums.totals) / size
    value, gradient = formula(means)
    pull = gradient / size
    influence = pull @ sums.totals.T - (pull * means).sum(1, keepdims=True) * sums.counts
    return value, influence


@dataclass(frozen=True)
class Comparison:
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


def compare_with_threshold(
    sample: Sample, formula: Formula, threshold: float, alpha: float, resamples: int, seed: int
) -> Comparison:
    """A studentised cluster bootstrap; with several checkpoints, crossed effects."""
    if sample.clusters < 2:
        return _nothing(sample, formula)
    found = estimate(sample, formula)
    if len(sample.checkpoints) > 1:
        compared = _crossed(found, threshold, alpha)
    else:
        again = resampled(sample, formula, resamples, seed)
        compared = _studentised(found, again, threshold, alpha)
    return _guarded(compared, threshold, alpha)


def closed(sample: Sample, formula: Formula, alpha: float) -> tuple[float, float, float]:
    """Estimate and one-sided bounds without resampling."""
    found = closed_form(sample, formula, alpha)
    return found.estimate, found.low, found.high


def closed_form(sample: Sample, formula: Formula, alpha: float) -> Comparison:
    """An estimate against 0 without resampling (Student's t over clusters, and over checkpoints
    where there are several), for the many small groups that are shown, and to choose what can be
    used."""
    if sample.clusters < 2:
        return _nothing(sample, formula)
    found = estimate(sample, formula)
    if len(sample.checkpoints) > 1:
        return _crossed(found, 0.0, alpha)
    return _student(found, 0.0, sample.clusters - 1, 0.0, alpha)


def estimate_of(values: Float[np.ndarray, "n c"], formula: Formula) -> float:
    """A formula of plain means over examples."""
    return float(formula(values.mean(0, keepdims=True)).value[0]) if len(values) else math.nan


def _studentised(found: Estimates, again: Estimates, threshold: float, alpha: float) -> Comparison:
    value, error = float(found.value[0]), float(found.error[0])
    # a resample that misses the few texts that differ has no error of its own: its distance
    # would be infinitely many errors, and one text among a hundred would end all certainty
    t = _ratio(again.value - value, np.maximum(again.error, _LEAST_ERROR * error))
    t = np.sort(t[~np.isnan(t)])
    observed = float(_ratio(np.array([value - threshold]), np.array([error]))[0])
    if len(t) == 0 or math.isnan(observed):
        return Comparison(value, math.nan, math.nan, 1.0, 1.0, error, 0.0, found.clusters, 1)
    return Comparison(
        value,
        low=value - (_upper(t, alpha) * error if error else 0.0),
        high=value + (_upper(-t[::-1], alpha) * error if error else 0.0),
        p_above=(1 + int((t >= observed).sum())) / (1 + len(t)),
        p_below=(1 + int((t <= observed).sum())) / (1 + len(t)),
        error=error,
        seed_error=0.0,
        clusters=found.clusters,
        checkpoints=1,
    )


def _crossed(found: Estimates, threshold: float, alpha: float) -> Comparison:
    """Seeds and examples as crossed effects. The seeds' part has S − 1 degrees of freedom,
    the examples' G − 1; Satterthwaite's are those of their sum. What seeds and examples do
    together is in both parts, so the sum errs to the wide side."""
    seeds, error = len(found.by_checkpoint), float(found.error[0])
    seed_error = float(found.by_checkpoint[:, 0].std(ddof=1)) / math.sqrt(seeds)
    parts = seed_error**4 / (seeds - 1) + error**4 / (found.clusters - 1)
    freedom = math.hypot(error, seed_error) ** 4 / parts if parts > 0 else float(seeds - 1)
    return _student(found, seed_error, freedom, threshold, alpha)


def _student(
    found: Estimates, seed_error: float, freedom: float, threshold: float, alpha: float
) -> Comparison:
    """Student's t with these degrees of freedom."""
    value, error = float(found.value[0]), float(found.error[0])
    whole = math.hypot(error, seed_error)
    observed = float(_ratio(np.array([value - threshold]), np.array([whole]))[0])
    half = float(stats.t.ppf(1 - alpha, freedom)) * whole
    above, below = float(stats.t.sf(observed, freedom)), float(stats.t.cdf(observed, freedom))
    if math.isnan(observed):
        half, above, below = math.nan, 1.0, 1.0
    counts = found.clusters, len(found.by_checkpoint)
    return Comparison(value, value - half, value + half, above, below, error, seed_error, *counts)


def _guarded(found: Comparison, threshold: float, alpha: float) -> Comparison:
    """What was never seen in G clusters may still happen: with no more than a share q of them
    one unit away, nothing is seen with probability (1 − q)^G. So no p-value is below
    (1 − distance)^G and no bound nearer than 1 − alpha^(1/G) (the "rule of three"). It
    matters where nearly all values are equal, and there a bootstrap is far too sure."""
    distance = abs(found.estimate - threshold)
    unseen = max(0.0, 1 - distance) ** found.clusters if math.isfinite(distance) else 1.0
    reach = 1 - alpha ** (1 / found.clusters)
    return replace(
        found,
        low=min(found.low, found.estimate - reach),
        high=max(found.high, found.estimate + reach),
        p_above=max(found.p_above, unseen),
        p_below=max(found.p_below, unseen),
    )


def _nothing(sample: Sample, formula: Formula) -> Comparison:
    value = float(estimate(sample, formula).value[0]) if sample.clusters else math.nan
    nan = math.nan
    seeds = len(sample.checkpoints)
    return Comparison(value, nan, nan, 1.0, 1.0, nan, 0.0, sample.clusters, seeds)


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


def needed(found: Comparison, threshold: float, alpha: float) -> int | None:
    """About how many clusters would decide, if the estimate stays where it is. None where no
    number of examples would: the estimate sits on the threshold, or other seeds alone could
    carry it across."""
    distance = abs(found.estimate - threshold)
    if not (distance > 0 and math.isfinite(distance) and math.isfinite(found.error)):
        return None
    z = float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(_POWER))
    room = distance**2 - (z * found.seed_error) ** 2
    if room <= 0:
        return None
    count = found.clusters * (z * found.error) ** 2 / room
    unseen = math.log(alpha) / math.log1p(-distance) if distance < 1 else 1.0
    most = max(count, unseen)
    return math.ceil(most) if most < 1e9 else None


def examples_needed(found: Comparison, threshold: float, alpha: float, examples: int) -> int | None:
    """About how many examples would decide, and more than there are: `needed` clusters of as many
    examples each as the `examples` measured so far have."""
    clusters = needed(found, threshold, alpha)
    if clusters is None:
        return None
    return max(math.ceil(clusters * examples / found.clusters), examples + 1)


def rejected(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Holm's step-down (1979): which hypotheses fall."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    fallen = [False] * len(p_values)
    for rank, i in enumerate(order):
        if not p_values[i] <= alpha / (len(p_values) - rank):
            break
        fallen[i] = True
    return fallen


def mean_interval(
    values: pd.Series, cluster_of: Clusters, alpha: float
) -> tuple[float, float, float]:
    """A mean of numbers from 0 to 1, by example, with one-sided bounds over clusters."""
    own = sample([[cell("", "", [("", values)])]], cluster_of)
    mean, low, high = closed(own, first, alpha)
    low, high = np.clip([low, high], 0.0, 1.0)
    return mean, float(low), float(high)


def share_interval(
    values: pd.Series, cluster_of: Clusters, alpha: float
) -> tuple[float, float, float]:
    """The same of yes and no. Where nearly all examples agree, a share of 1 − alpha^(1/G) may
    differ and not have been seen in G clusters: no bound is nearer than that."""
    mean, low, high = mean_interval(values, cluster_of, alpha)
    clusters = len({cluster_of[str(name)] for name in values.index})
    unseen = 1 - alpha ** (1 / max(1, clusters))
    low, high = np.clip([min(low, mean - unseen), max(high, mean + unseen)], 0.0, 1.0)
    return mean, float(low), float(high)
