"""Which explanation to show: the best, those that cannot be told apart from it, what each costs.

The best of many looks good by chance. So it is chosen on one half of the examples and its
numbers are those of the other half; halves are by a hash of the cluster, so they do not
depend on order and no document is in both. With few examples the first half may choose one
that is far behind on the second: of those that are not clearly behind it there the better on
average is recommended, and of equally good ones the cheaper. The explanation on trial is
recommended where nothing is clearly better and it clears the bar.

Explanations are compared on the cells that both were scored by, never on others. One that is
scored without the operator that made it has fewer of them, and an easy operator would pass for a
good explanation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from heedful.verdict.evaluation import drop_reason, gap_reason, key_of
from heedful.verdict.inference import (
    Clusters,
    Value,
    closed,
    compare_with_threshold,
    estimate_of,
    position,
    rejected,
    sample,
)
from heedful.verdict.properties.erasure import MEASURE, direction_cells, importance_cells
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN
from heedful.verdict.table import Cell, Table, cell, tabulate_blocks

Contenders = dict[str, tuple[Cell, ...]]

IMPORTANCE, DIRECTION = "importance", "direction"
"""The two questions an explanation can answer: which words matter, and what for."""
MAKERS = {IMPORTANCE: importance_cells, DIRECTION: direction_cells}


def contenders(table: Table, question: str, chosen: Settings) -> Contenders:
    """Usable cells of every explanation that answers the question and is neither a baseline nor
    the oracle. Other layers and heads are a question of their own (`sites`)."""
    measures = (MEASURE,) if question == IMPORTANCE else chosen.metrics
    names = explanations_of(
        (table.get(table.main, name, each) for name in measures for each in table.operators(name)),
        chosen,
    )
    if question == DIRECTION:
        names &= set(chosen.signed)
    return cells_of(table, question, names, chosen)


def explanations_of(tables: Iterable[pd.DataFrame], chosen: Settings) -> set[str]:
    """What has a column there and is no baseline, no oracle, and not the explanation on trial read
    elsewhere (`attention:layer=0,head=3`)."""
    names = {str(name) for wide in tables for name in wide.columns}
    names -= {*chosen.floors, chosen.ceiling, ""}
    trial = chosen.on_trial
    return {name for name in names if name == trial or name.partition(":")[0] != trial}


def cells_of(table: Table, question: str, names: set[str], chosen: Settings) -> Contenders:
    """The usable cells of these explanations, those that have any."""
    make, usable = MAKERS[question], _usable(table, question, chosen)
    found = {
        name: tuple(
            each
            for each in make(table, table.main, name, chosen)
            if key_of(each) in usable and each.examples
        )
        for name in sorted(names)
    }
    return {name: cells for name, cells in found.items() if cells}


def _usable(table: Table, question: str, chosen: Settings) -> set[tuple[str, str]]:
    """A matter of baseline and oracle, whichever explanation is scored."""
    cluster_of, alpha = table.cluster_of, chosen.alpha
    base, random = (
        {key_of(each): each for each in MAKERS[question](table, model, chosen.ceiling, chosen)}
        for model in (table.main, "randomised")
    )
    return {
        key
        for key, each in base.items()
        if each.examples
        and not gap_reason(each, chosen.smallest_gap, cluster_of, alpha)
        and not drop_reason(each, random.get(key), (2, 1), cluster_of, alpha)
    }


def half_of(cluster: str) -> int:
    """0: to choose on, 1: to report on; the same everywhere and always."""
    return hashlib.blake2b(cluster.encode(), digest_size=1).digest()[0] & 1


def half(cells: Contenders, table: Table, side: int) -> Contenders:
    """The cells on one half of the clusters."""
    inside = {name for name, key in table.cluster_of.items() if half_of(key) == side}
    return {name: tuple(each.among(inside) for each in mine) for name, mine in cells.items()}


def choose(part: Contenders) -> str:
    """The one whose smallest lead over any rival is largest: it beats all others where one
    does, else it is beaten by the least. Two that share no cell are no rivals, and one that
    was compared with nobody is chosen only where nobody was."""
    worst = dict.fromkeys(sorted(part), math.inf)
    for one, other in combinations(worst, 2):
        ahead = _mean_lead(shared(part[one], part[other]))
        if not math.isnan(ahead):
            worst[one], worst[other] = min(worst[one], ahead), min(worst[other], -ahead)
    return max(worst, key=lambda name: worst[name] if worst[name] < math.inf else -math.inf)


def shared(one: Sequence[Cell], other: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of both, paired by example: one, other, floor, ceiling."""
    known = {key_of(each): each for each in other}
    return tuple(_pair(each, known[key_of(each)]) for each in one if key_of(each) in known)


def lead(means: np.ndarray) -> Value:
    """(one − other)/(ceiling − floor)."""
    one, other, floor, ceiling = means.T
    gap = np.where(ceiling == floor, np.nan, ceiling - floor)
    ahead = (one - other) / gap
    return Value(ahead, np.stack([1 / gap, -1 / gap, ahead / gap, -ahead / gap], axis=1))


def _mean_lead(pairs: Sequence[Cell]) -> float:
    values = (estimate_of(each.values, lead) for each in pairs)
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _pair(one: Cell, other: Cell) -> Cell:
    left, right = (pd.DataFrame(c.values, index=list(c.examples)) for c in (one, other))
    columns = [("one", left[0]), ("other", right[0]), ("floor", left[1]), ("ceiling", left[2])]
    return cell(one.measure, one.operator, columns, one.sign)


@dataclass(frozen=True)
class Ranked:
    """One explanation on the half that was kept for reporting, by the `measures` (a metric
    under an operator) that scored the best too, and by no others. `behind` is its paired
    distance to the best, undefined where no measure scored both; `tied` says that it cannot
    be told apart from it."""

    explanation: str
    position: float
    low: float
    high: float
    behind: float
    tied: bool
    milliseconds: float = NAN
    passes: float = NAN
    measures: int = 0


@dataclass(frozen=True)
class Recommendation:
    """What to show: `best` is "" where nothing could be ranked. `clears` says that it is clearly
    above the bar of its question."""

    best: str
    sentence: str
    ranked: tuple[Ranked, ...] = ()
    notes: tuple[str, ...] = ()
    clears: bool = False

    @property
    def tied(self) -> tuple[str, ...]:
        """The explanations to choose from: the best and all that may be as good."""
        return tuple(each.explanation for each in self.ranked if each.tied)


def recommend(
    table: Table, costs: pd.DataFrame, chosen: Settings, question: str = IMPORTANCE
) -> Recommendation:
    """By paired leads in units of the way from a random order to the best, averaged over the
    usable metrics and operators that scored both, each explanation without those that made it."""
    cells = contenders(table, question, chosen)
    if not cells:
        why = f"{question} was not measured, or cannot be on these or so few examples"
        return Recommendation("", f"no explanation could be ranked: {why}.")
    to_choose, to_report = (half(cells, table, side) for side in (0, 1))
    clusters = (
        sample([[each]], table.cluster_of).clusters
        for part in (to_choose, to_report)
        for mine in part.values()
        for each in mine
    )
    if min(clusters) < chosen.fewest:
        text = f"too few examples: each half of them needs {chosen.fewest}."
        return Recommendation("", f"no recommendation: {text}")
    ranking = _Ranking(to_report, chosen.effect(question), table.cluster_of, costs, chosen)
    if chosen.on_trial in cells:
        ranked = ranking.beside(chosen.on_trial)
        if ranking.keeps_trial(ranked):
            return _recommendation(chosen.on_trial, ranked, ranking)
    first = choose(to_choose)
    ranked = ranking.beside(first)
    best = _preferred(ranked)
    if best == first:
        return _recommendation(best, ranked, ranking)
    better = next(each.behind for each in ranked if each.explanation == best)
    text = (
        f"{_plain(first)} was ahead on the first half; on the second {_plain(best)} is "
        f"{'better' if round(better, 2) < 0 else 'as good and cheaper'}, so its number may be a "
        f"little too good."
    )
    said = _recommendation(best, ranking.beside(best), ranking)
    return replace(said, notes=(*said.notes, text))


@dataclass(frozen=True)
class _Ranking:
    """Explanations on the half that is reported, and the `bar` of their question."""

    cells: Contenders
    bar: float
    cluster_of: Clusters
    costs: pd.DataFrame
    chosen: Settings

    def beside(self, best: str) -> tuple[Ranked, ...]:
        """Paired differences to the best, Holm over all of them; the nearest to it first, and last
        what was not compared with it."""
        own, alpha = self.cells[best], self.chosen.alpha
        pairs = {name: shared(own, cells) for name, cells in self.cells.items() if name != best}
        behind = {name: self._behind(each) for name, each in pairs.items()}
        worse = rejected([above for _, above, _ in behind.values()], alpha)
        better = rejected([below for _, _, below in behind.values()], alpha)
        found = [self._ranked(best, own, 0.0, True)]
        for (name, each), *apart in zip(pairs.items(), worse, better, strict=True):
            # the other of each pair as a cell of its own: value, floor, ceiling
            cells = [replace(p, names=p.names[1:], values=p.values[:, 1:]) for p in each]
            found.append(self._ranked(name, cells, behind[name][0], not any(apart)))
        return tuple(sorted(found, key=lambda each: (math.isnan(each.behind), each.behind)))

    def keeps_trial(self, ranked: Sequence[Ranked]) -> bool:
        """Whether the explanation on trial, to which all are compared here, clears the bar, and
        nothing is clearly better."""
        trial = self.chosen.on_trial
        clears = any(each.explanation == trial and each.low > self.bar for each in ranked)
        return clears and not any(_ahead(each) for each in ranked)

    def _behind(self, pairs: Sequence[Cell]) -> tuple[float, float, float]:
        """How far behind, and the p-values against "not behind" and "not ahead"."""
        if not pairs:
            return NAN, 1.0, 1.0
        drawn, chosen = sample([pairs], self.cluster_of), self.chosen
        found = compare_with_threshold(drawn, lead, 0, chosen.alpha, chosen.resamples, chosen.seed)
        return found.estimate, found.p_above, found.p_below

    def _ranked(self, name: str, cells: Sequence[Cell], behind: float, tied: bool) -> Ranked:
        place = (NAN, NAN, NAN)
        if cells:
            place = closed(sample([cells], self.cluster_of), position, self.chosen.alpha)
        milliseconds = self._cost(name, "milliseconds_per_text")
        passes = self._cost(name, "passes_per_text")
        return Ranked(name, *place, behind, tied, milliseconds, passes, len(cells))

    def _cost(self, name: str, column: str) -> float:
        if not {column, "explanation"} <= set(self.costs.columns):
            return NAN
        return float(self.costs.loc[self.costs["explanation"] == name, column].dropna().mean())


def _ahead(each: Ranked) -> bool:
    """Clearly better than the one it is compared with."""
    return bool(each.measures) and not each.tied and each.behind < 0


def _preferred(ranked: Sequence[Ranked]) -> str:
    """Of those that are not clearly behind the best on average, to a hundredth; then the
    cheapest, where costs are known."""
    tied = [each for each in ranked if (each.tied or _ahead(each)) and each.measures]

    def order(each: Ranked) -> tuple[float, float]:
        known = math.isfinite(each.milliseconds)
        return round(each.behind, 2), each.milliseconds if known else math.inf

    return min(tied, key=order).explanation


def _recommendation(best: str, ranked: tuple[Ranked, ...], ranking: _Ranking) -> Recommendation:
    by_name = {each.explanation: each for each in ranked}
    first, trial = by_name[best], by_name.get(ranking.chosen.on_trial)
    notes = ["chosen on one half of the examples, reported on the other."]
    if not first.low > 0:
        text = "nothing we tried explains this model: no order of words is clearly above random."
        return Recommendation("", text, ranked, tuple(notes))
    bar = ranking.bar
    sentence = f"{_plain(best)}: {first.position:.2f}"
    if trial is not None and trial is not first:
        sentence += _against(first, trial)
    elif ranking.keeps_trial(ranked) and len(ranked) > 1:
        sentence += ", and nothing we tried is clearly better"
    sentence += " (0 = random order, 1 = best order found)"
    if math.isfinite(first.milliseconds):
        sentence += f"; {_milliseconds(first.milliseconds)} per example"
    if first.low > bar:
        sentence = f"show {sentence}"
    elif first.high < bar:
        sentence = f"nothing we tried explains this model well; the best is {sentence}"
    else:
        sentence = f"the best we tried is {sentence}; whether it clears the bar of {bar:g} is open"
    notes += [*_cheaper(first, ranked), *_fewer(first, ranked)]
    return Recommendation(best, sentence + ".", ranked, tuple(notes), first.low > bar)


def _against(best: Ranked, trial: Ranked) -> str:
    """Two positions side by side only where the same measures gave them."""
    if trial.measures == best.measures:
        equal = ", which cannot be told apart from it" if trial.tied else ""
        return f", {_plain(trial.explanation)} {trial.position:.2f}{equal}"
    if not trial.measures:
        return ""
    return f", {trial.behind:.2f} ahead of {_plain(trial.explanation)} on what scored both"


def _fewer(best: Ranked, ranked: Sequence[Ranked]) -> list[str]:
    """Nothing is scored by the operator that made it, so some share less with the best."""
    some = [_plain(e.explanation) for e in ranked if 0 < e.measures < best.measures]
    none = [_plain(e.explanation) for e in ranked if not e.measures]
    notes = []
    if some:
        text = "scored by fewer measures than the best: read how far behind, not the position."
        notes.append(f"{', '.join(some)}: {text}")
    if none:
        notes.append(f"{', '.join(none)}: no measure scored both it and the best.")
    return notes


def _cheaper(best: Ranked, ranked: Sequence[Ranked]) -> list[str]:
    """A tied explanation that costs less is worth a word."""
    cheap = min(
        (e for e in ranked if e.tied and e.measures and math.isfinite(e.milliseconds)),
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


WEIGHTED = ("rollout", "value_norm", "gradient_attention", "effective_attention")
"""Explanations that are attention, made more of."""
MOST = 20


@dataclass(frozen=True)
class Site:
    """One attention on the half that was kept for reporting; `chosen_on` is its position on the
    other half, by which it was put in its place."""

    name: str
    position: float
    low: float
    high: float
    chosen_on: float


@dataclass(frozen=True)
class Sites:
    """`tried` of them, the best first as the first half has it; `explains` says whether the very
    best clears the bar on the second half, None where that is open."""

    sentence: str
    tried: int = 0
    explains: bool | None = None
    ranked: tuple[Site, ...] = ()


def sites(table: Table, chosen: Settings) -> Sites:
    known = (table.get(table.main, MEASURE, each) for each in table.operators(MEASURE))
    names = {str(name) for wide in known for name in wide.columns}
    kinds = (chosen.on_trial, *WEIGHTED)
    names = {n for n in names if n == chosen.on_trial or n.partition(":")[0] in kinds}
    names = {n for n in names if ":sinks=" not in n}  # a question of their own (`sinks_of`)
    cells = cells_of(table, IMPORTANCE, names, chosen)
    others = [name for name in cells if name != chosen.on_trial]
    if not others:
        return Sites("no other layer, head or weighted attention was scored.")
    halves = [half(cells, table, side) for side in (0, 1)]
    cluster_of, alpha = table.cluster_of, chosen.alpha
    drawn = [{n: sample([mine[n]], cluster_of) for n in cells} for mine in halves]
    if min(each.clusters for mine in drawn for each in mine.values()) < chosen.fewest:
        return Sites(f"too few examples: each half of them needs {chosen.fewest}.", len(cells))
    first = {name: closed(each, position, alpha)[0] for name, each in drawn[0].items()}
    order = sorted(cells, key=lambda name: -first[name])
    ranked = tuple(
        Site(name, *closed(drawn[1][name], position, alpha), first[name]) for name in order[:MOST]
    )
    best, bar = ranked[0], chosen.effect("importance")
    explains = True if best.low > bar else False if best.high < bar else None
    return Sites(_sentence(best, len(cells), explains, chosen), len(cells), explains, ranked)


def _sentence(best: Site, tried: int, explains: bool | None, chosen: Settings) -> str:
    score = f"{best.position:.2f} ({best.low:.2f} to {best.high:.2f})"
    if best.name == chosen.on_trial:
        return f"of {tried} kinds of attention the one on trial is best: {score}."
    said = {True: "clears", False: "does not clear", None: "may clear"}[explains]
    start = f"of {tried} kinds of attention {_plain(best.name)} is best: {score}"
    return f"{start}; it {said} the bar of {chosen.effect('importance'):g}."


def score_positions(rows: pd.DataFrame, chosen: Settings) -> pd.DataFrame:
    """Every explanation under every measure and operator, by the rules of the verdict: `position`
    from a random order (0) to the best order found (1), with bounds over clusters and how many
    examples. None is scored by an operator that made it, and only signed ones on direction."""
    columns = ["measure", "operator", "explanation", "position", "low", "high", "n"]
    if rows.empty:
        return pd.DataFrame(columns=columns)
    table = tabulate_blocks([rows])
    lines = []
    for name in sorted(explanations_of(table.wide.values(), chosen)):
        cells = list(importance_cells(table, table.main, name, chosen))
        if name in chosen.signed:
            cells += direction_cells(table, table.main, name, chosen)
        for each in cells:
            found = closed(sample([[each]], table.cluster_of), position, chosen.alpha)
            if not math.isnan(found[0]):
                lines.append((each.measure, each.operator, name, *found, len(each.examples)))
    return pd.DataFrame(lines, columns=columns)
