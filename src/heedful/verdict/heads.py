"""Which heads carry the decision, and whether those are the heads whose attention explains it.

The head without which the output moves most is chosen on one half of the examples and reported on
the other. Over all heads, effects are compared with the importance that each head's attention
captures: a head can be heavy with words that matter and do nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from heedful.metrics import drawn
from heedful.verdict.inference import mean_interval
from heedful.verdict.properties.erasure import MEASURE
from heedful.verdict.recommendation import half_of
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, number
from heedful.verdict.table import Table

EFFECT, DROP, DIRECT = "tvd_head", "drop_head", "direct"
ABLATIONS = ("mean", "zero")
"""What a head's effect is measured by: the first of these that was."""
MOST = 20
FEWEST = 3
"""Heads, below which no correlation over heads is told."""
HEAD = re.compile(r"attention:layer=(\d+),head=(\d+)")


@dataclass(frozen=True)
class Head:
    """One head on the half that was kept for reporting: how far the output moves without it, and
    how far on the `direct` way; `chosen_on` is its effect on the other half. `drop` is how far the
    probability of the decision falls, `captured` the importance that its attention captures."""

    name: str
    effect: float
    low: float
    high: float
    chosen_on: float
    direct: float = NAN
    captured: float = NAN
    drop: float = NAN


@dataclass(frozen=True)
class Heads:
    """`tried` of them, the best first as the first half has it; "" says that none was ablated.
    `correlation` is Spearman's ρ over heads between effect and captured importance."""

    sentence: str = ""
    tried: int = 0
    ablation: str = ""
    ranked: tuple[Head, ...] = ()
    correlation: float = NAN
    low: float = NAN
    high: float = NAN


def decisive_heads(table: Table, chosen: Settings) -> Heads:
    """From the table of measurements."""
    ablation = next((a for a in ABLATIONS if not _effects(table, a).empty), "")
    if not ablation:
        return Heads()
    effects, captured = _effects(table, ablation), _captured(table)
    sides = pd.Series({name: half_of(str(table.cluster_of[name])) for name in effects.index})
    halves = [effects[sides == side] for side in (0, 1)]
    clusters = [len({table.cluster_of[str(n)] for n in half.index}) for half in halves]
    if min(clusters) < chosen.fewest:
        few = f"too few examples: each half of them needs {chosen.fewest}."
        return Heads(few, effects.shape[1], ablation)
    reported = halves[1].index
    direct = _means_of(_effects(table, DIRECT), reported)
    drop = _means_of(_effects(table, ablation, DROP), reported)
    known = _means_of(captured, reported)
    first = halves[0].mean().sort_values(ascending=False, kind="stable")
    ranked = [
        Head(
            str(name),
            *mean_interval(halves[1][name].dropna(), table.cluster_of, chosen.alpha),
            float(effect),
            *(means.get(str(name), NAN) for means in (direct, known, drop)),
        )
        for name, effect in first.head(MOST).items()
    ]
    found = correlation(effects, captured, table, chosen)
    sentence = _sentence(ranked, effects.shape[1], ablation, found)
    return Heads(sentence, effects.shape[1], ablation, tuple(ranked), *found)


def correlation(
    effects: pd.DataFrame, captured: pd.DataFrame, table: Table, chosen: Settings
) -> tuple[float, float, float]:
    """Spearman's ρ over heads between the means of two measures, with percentile bounds over
    clusters of examples; NaN for fewer than three heads, or where one measure is the same for
    all."""
    both = [name for name in effects if name in captured]
    if len(both) < FEWEST:
        return NAN, NAN, NAN
    pair = [frame[both].reindex(effects.index) for frame in (effects, captured)]
    clusters = pd.Series({name: table.cluster_of[str(name)] for name in effects.index})
    names = sorted(set(clusters))
    once = np.ones((1, len(names)))
    value = float(_spearman([_means(each, clusters, names, once) for each in pair])[0])
    again = [
        _spearman([_means(each, clusters, names, counts.astype(np.float64)) for each in pair])
        for counts in drawn(len(names), chosen.seed, chosen.resamples)
    ]
    known = np.concatenate(again) if again else np.array([])
    known = known[~np.isnan(known)]
    if math.isnan(value) or not len(known):
        return value, NAN, NAN
    low, high = np.quantile(known, [chosen.alpha, 1 - chosen.alpha])
    return value, float(low), float(high)


def _effects(table: Table, ablation: str, measure: str = EFFECT) -> pd.DataFrame:
    return _of_heads(table.get(table.main, measure, ablation))


def _means_of(frame: pd.DataFrame, examples: pd.Index) -> dict[str, float]:
    """Of each head over some of the examples."""
    some = frame.reindex(index=examples)
    return {str(name): float(some[name].mean()) for name in some.columns}


def _captured(table: Table) -> pd.DataFrame:
    """Mean over perturbations."""
    parts = [_of_heads(table.get(table.main, MEASURE, each)) for each in table.operators(MEASURE)]
    known = [part for part in parts if not part.empty]
    if not known:
        return pd.DataFrame()
    stacked = pd.concat(known)
    return stacked.groupby(stacked.index).mean()


def _of_heads(wide: pd.DataFrame) -> pd.DataFrame:
    return wide[[name for name in wide.columns if HEAD.fullmatch(str(name))]]


def _means(
    frame: pd.DataFrame, clusters: pd.Series, names: list[str], counts: Float[np.ndarray, "r g"]
) -> Float[np.ndarray, "r h"]:
    """Of each column over the examples that have it, clusters counting as often as drawn."""
    groups = frame.groupby(clusters)
    totals = groups.sum(min_count=0).reindex(names).to_numpy(dtype=np.float64)
    sizes = groups.count().reindex(names).to_numpy(dtype=np.float64)
    size = counts @ sizes
    means: Float[np.ndarray, "r h"] = np.full_like(size, np.nan)
    np.divide(counts @ totals, size, out=means, where=size > 0)
    return means


def _spearman(pair: Sequence[Float[np.ndarray, "r h"]]) -> Float[np.ndarray, " r"]:
    """Pearson's correlation of ranks, row by row; equal numbers share their mean rank."""
    ranks = [stats.rankdata(each, axis=1, nan_policy="propagate") for each in pair]
    x, y = (each - each.mean(1, keepdims=True) for each in ranks)
    scale = np.sqrt((x**2).sum(1) * (y**2).sum(1))
    found: Float[np.ndarray, " r"] = np.full(len(x), np.nan)
    np.divide((x * y).sum(1), scale, out=found, where=scale > 0)
    return found


def _sentence(
    ranked: Sequence[Head], tried: int, ablation: str, found: tuple[float, float, float]
) -> str:
    best = ranked[0]
    match = HEAD.fullmatch(best.name)
    place = "layer {}, head {}".format(*match.groups()) if match else best.name
    how = "at its mean" if ablation == "mean" else "at zero"
    text = (
        f"of {tried} heads, {place} does most: with its output {how} the model's output moves by "
        f"{number(best.effect)} ({number(best.low)} to {number(best.high)})."
    )
    if math.isnan(found[0]):
        return text
    value, low, high = map(number, found)
    return (
        f"{text} Over heads, the correlation of this effect with the importance that their "
        f"attention captures is {value} ({low} to {high})."
    )
