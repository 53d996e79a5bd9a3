"""Which explanation to show: the best, those that cannot be told apart from it, what each costs.

The best of many looks good by chance. So it is chosen on one half of the examples and its
numbers are those of the other half; halves are by a hash of the cluster, so they do not
depend on order and no document is in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell, cell
from heedful.verdict.contenders import Contenders, contenders, half
from heedful.verdict.decide import rejected
from heedful.verdict.formulas import Value, position
from heedful.verdict.resample import Clusters, sample
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table
from heedful.verdict.weigh import closed, estimate_of, weigh

NAN = math.nan


@dataclass(frozen=True)
class Ranked:
    """One explanation on the half that was kept for reporting. `behind` is its paired distance
    to the best; `tied` says that it cannot be told apart from it."""

    explanation: str
    position: float
    low: float
    high: float
    behind: float
    tied: bool
    milliseconds: float = NAN
    passes: float = NAN


@dataclass(frozen=True)
class Recommendation:
    best: str
    sentence: str
    ranked: tuple[Ranked, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tied(self) -> tuple[str, ...]:
        """The explanations to choose from: the best and all that may be as good."""
        return tuple(each.explanation for each in self.ranked if each.tied)


def recommend(table: Table, costs: pd.DataFrame, chosen: Settings) -> Recommendation:
    """By relative position between floor and ceiling, averaged over the usable metrics and
    operators, each explanation without the operator that made it."""
    cells = contenders(table, chosen)
    if not cells:
        return Recommendation("", "no explanation could be ranked: erasure was not measured.")
    halves = [half(cells, table, side) for side in (0, 1)]
    cluster_of = table.cluster_of
    if min(_clusters(part, cluster_of) for part in halves) < chosen.fewest:
        text = f"too few examples to recommend: {2 * chosen.fewest} or more are needed."
        return Recommendation("", f"no recommendation: {text}")
    best = max(sorted(halves[0]), key=lambda name: _position(halves[0][name]))
    ranked = _ranked(best, halves[1], cluster_of, chosen)
    priced = tuple(_with_cost(each, costs) for each in ranked)
    return _recommendation(best, priced, chosen)


def _clusters(part: Contenders, cluster_of: Clusters) -> int:
    return min(sample([[each]], cluster_of).clusters for mine in part.values() for each in mine)


def _position(cells: Sequence[Cell]) -> float:
    return float(np.mean([estimate_of(each.values, position) for each in cells]))


def _ranked(best: str, part: Contenders, cluster_of: Clusters, chosen: Settings) -> list[Ranked]:
    """Paired differences to the best, Holm over all of them; highest position first."""
    names = sorted(part)
    others = [name for name in names if name != best]
    behind = {name: _behind(part[best], part[name], cluster_of, chosen) for name in others}
    fallen = rejected([behind[name][1] for name in others], chosen.alpha)
    apart = {name for name, gone in zip(others, fallen, strict=True) if gone}
    found = []
    for name in names:
        value, low, high = closed(sample([part[name]], cluster_of), position, chosen.alpha)
        gap = behind[name][0] if name != best else 0.0
        tied = name == best or (name not in apart and not np.isnan(gap))
        found.append(Ranked(name, value, low, high, gap, tied))
    return sorted(found, key=lambda each: (each.explanation != best, -each.position))


def _behind(
    best: Sequence[Cell], other: Sequence[Cell], cluster_of: Clusters, chosen: Settings
) -> tuple[float, float]:
    """How far behind, and the p-value against "not at all", on the cells both were scored by."""
    known = {(each.measure, each.operator): each for each in other}
    pairs = [
        _pair(each, known[key]) for each in best if (key := (each.measure, each.operator)) in known
    ]
    if not pairs:
        return NAN, 1.0
    drawn = sample([pairs], cluster_of)
    found = weigh(drawn, _lead, 0.0, chosen.alpha, chosen.resamples, chosen.seed)
    return found.estimate, found.p_above


def _pair(best: Cell, other: Cell) -> Cell:
    def column(each: Cell, index: int) -> pd.Series:
        return pd.Series(each.values[:, index], index=list(each.examples), dtype="float64")

    columns = [
        ("best", column(best, 0)),
        ("other", column(other, 0)),
        ("floor", column(best, 1)),
        ("ceiling", column(best, 2)),
    ]
    return cell(best.measure, best.operator, columns, best.sign)


def _lead(means: np.ndarray) -> Value:
    """(best − other)/(ceiling − floor)."""
    best, other, floor, ceiling = means.T
    gap = np.where(ceiling == floor, np.nan, ceiling - floor)
    lead = (best - other) / gap
    return Value(lead, np.stack([1 / gap, -1 / gap, lead / gap, -lead / gap], axis=1))


def _with_cost(each: Ranked, costs: pd.DataFrame) -> Ranked:
    cost = _costs(costs)
    return Ranked(
        each.explanation,
        each.position,
        each.low,
        each.high,
        each.behind,
        each.tied,
        cost("milliseconds_per_text", each.explanation),
        cost("passes_per_text", each.explanation),
    )


def _costs(costs: pd.DataFrame) -> Callable[[str, str], float]:
    def cost(column: str, name: str) -> float:
        if column not in costs.columns or "explanation" not in costs.columns:
            return NAN
        found = costs.loc[costs["explanation"] == name, column].dropna()
        return float(found.mean()) if len(found) else NAN

    return cost


def _recommendation(best: str, ranked: tuple[Ranked, ...], chosen: Settings) -> Recommendation:
    by_name = {each.explanation: each for each in ranked}
    first, trial = by_name[best], by_name.get(chosen.on_trial)
    notes = ["chosen on one half of the examples, reported on the other."]
    if not first.low > 0:
        text = "no explanation is clearly better here than a random or prior order."
        return Recommendation("", text, ranked, tuple(notes))
    sentence = f"show {_plain(best)}: {first.position:.2f} of the way from random to the best found"
    if trial is not None and best != chosen.on_trial:
        sentence += f", against {trial.position:.2f} for {_plain(chosen.on_trial)}"
        if trial.tied:
            notes.append(f"{_plain(chosen.on_trial)} cannot be told apart from the best.")
    if math.isfinite(first.milliseconds):
        sentence += f"; {_milliseconds(first.milliseconds)} per text"
    notes += _cheaper(first, ranked)
    return Recommendation(best, sentence + ".", ranked, tuple(notes))


def _cheaper(best: Ranked, ranked: Sequence[Ranked]) -> list[str]:
    """A tied explanation that costs less is worth a word."""
    cheap = min(
        (each for each in ranked if each.tied and math.isfinite(each.milliseconds)),
        key=lambda each: each.milliseconds,
        default=best,
    )
    if cheap.explanation == best.explanation or not cheap.milliseconds < best.milliseconds:
        return []
    price = _milliseconds(cheap.milliseconds)
    return [f"{_plain(cheap.explanation)} cannot be told apart from it and takes {price}."]


def _milliseconds(value: float) -> str:
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"


def _plain(name: str) -> str:
    return name.replace("_", " ")
