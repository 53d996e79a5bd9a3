"""Which explanation to show: the best, those that cannot be told apart from it, what each costs.

The best of many looks good by chance. So it is chosen on one half of the examples and its
numbers are those of the other half; halves are by a hash of the cluster, so they do not
depend on order and no document is in both. With few examples the first half may choose one
that is far behind on the second: of those that are not clearly behind it there the better on
average is recommended, and of equally good ones the cheaper. The explanation on trial is
recommended where nothing is clearly better and it clears the bar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from heedful.verdict.cell import Cell
from heedful.verdict.contenders import IMPORTANCE, Contenders, contenders, half
from heedful.verdict.decide import rejected
from heedful.verdict.formulas import position
from heedful.verdict.leads import choose, lead, others_part, shared
from heedful.verdict.resample import Clusters, sample
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table
from heedful.verdict.weigh import closed, weigh

NAN = math.nan


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
    halves = [half(cells, table, side) for side in (0, 1)]
    cluster_of = table.cluster_of
    if min(_clusters(part, cluster_of) for part in halves) < chosen.fewest:
        text = f"too few examples: each half of them needs {chosen.fewest}."
        return Recommendation("", f"no recommendation: {text}")

    def ranked(best: str) -> tuple[Ranked, ...]:
        found = _ranked(best, halves[1], cluster_of, chosen)
        return tuple(_with_cost(each, costs) for each in found)

    if chosen.on_trial in cells:
        found = ranked(chosen.on_trial)
        if _good_enough(found, question, chosen):
            return _recommendation(chosen.on_trial, found, question, chosen)
    first = choose(halves[0])
    found = ranked(first)
    best = _preferred(found)
    if best == first:
        return _recommendation(best, found, question, chosen)
    text = (
        f"{_plain(first)} was ahead on the first half; on the second {_plain(best)} is better, or "
        f"as good and cheaper, so its number may be a little too good."
    )
    said = _recommendation(best, ranked(best), question, chosen)
    return replace(said, notes=(*said.notes, text))


def _good_enough(ranked: Sequence[Ranked], question: str, chosen: Settings) -> bool:
    """Whether the explanation on trial, to which all are compared here, clears the bar, and
    nothing is clearly better."""
    bar = chosen.effect(question)
    clears = any(e.explanation == chosen.on_trial and e.low > bar for e in ranked)
    return clears and not any(_ahead(each) for each in ranked)


def _ahead(each: Ranked) -> bool:
    """Clearly better than the one it is compared with."""
    return bool(each.measures) and not each.tied and each.behind < 0


def _preferred(ranked: Sequence[Ranked]) -> str:
    """Of those that are not clearly behind the best on average, to a hundredth; then the
    cheapest, where costs are known."""
    tied = [each for each in ranked if (each.tied or _ahead(each)) and each.measures]
    prices = {e.explanation: e.milliseconds for e in tied if math.isfinite(e.milliseconds)}

    def order(each: Ranked) -> tuple[float, float]:
        return round(each.behind, 2), prices.get(each.explanation, math.inf)

    return min(tied, key=order).explanation


def _clusters(part: Contenders, cluster_of: Clusters) -> int:
    return min(sample([[each]], cluster_of).clusters for mine in part.values() for each in mine)


def _ranked(best: str, part: Contenders, cluster_of: Clusters, chosen: Settings) -> list[Ranked]:
    """Paired differences to the best, Holm over all of them; the nearest to it first."""
    cells = {name: shared(part[best], part[name]) for name in sorted(part) if name != best}
    behind = {name: _behind(pairs, cluster_of, chosen) for name, pairs in cells.items()}
    worse = rejected([above for _, above, _ in behind.values()], chosen.alpha)
    better = rejected([below for _, _, below in behind.values()], chosen.alpha)
    found = [_first(best, part[best], cluster_of, chosen)]
    for (name, pairs), *apart in zip(cells.items(), worse, better, strict=True):
        own = [others_part(pair) for pair in pairs]
        place = _place(own, cluster_of, chosen)
        found.append(Ranked(name, *place, behind[name][0], not any(apart), measures=len(own)))
    return sorted(found, key=_order)


def _first(best: str, cells: Sequence[Cell], cluster_of: Clusters, chosen: Settings) -> Ranked:
    place = _place(cells, cluster_of, chosen)
    return Ranked(best, *place, 0.0, True, measures=len(cells))


def _order(each: Ranked) -> tuple[bool, float]:
    """What was not compared with the best comes last."""
    return math.isnan(each.behind), each.behind


def _place(
    cells: Sequence[Cell], cluster_of: Clusters, chosen: Settings
) -> tuple[float, float, float]:
    if not cells:
        return NAN, NAN, NAN
    return closed(sample([cells], cluster_of), position, chosen.alpha)


def _behind(
    pairs: Sequence[Cell], cluster_of: Clusters, chosen: Settings
) -> tuple[float, float, float]:
    """How far behind, and the p-values against "not behind" and "not ahead"."""
    if not pairs:
        return NAN, 1.0, 1.0
    drawn = sample([pairs], cluster_of)
    found = weigh(drawn, lead, 0.0, chosen.alpha, chosen.resamples, chosen.seed)
    return found.estimate, found.p_above, found.p_below


def _with_cost(each: Ranked, costs: pd.DataFrame) -> Ranked:
    cost = _costs(costs)
    return replace(
        each,
        milliseconds=cost("milliseconds_per_text", each.explanation),
        passes=cost("passes_per_text", each.explanation),
    )


def _costs(costs: pd.DataFrame) -> Callable[[str, str], float]:
    def cost(column: str, name: str) -> float:
        if column not in costs.columns or "explanation" not in costs.columns:
            return NAN
        found = costs.loc[costs["explanation"] == name, column].dropna()
        return float(found.mean()) if len(found) else NAN

    return cost


def _recommendation(
    best: str, ranked: tuple[Ranked, ...], question: str, chosen: Settings
) -> Recommendation:
    by_name = {each.explanation: each for each in ranked}
    first, trial = by_name[best], by_name.get(chosen.on_trial)
    notes = ["chosen on one half of the examples, reported on the other."]
    if not first.low > 0:
        text = "nothing we tried explains this model: no order of words is clearly above random."
        return Recommendation("", text, ranked, tuple(notes))
    bar = chosen.effect(question)
    sentence = f"{_plain(best)}: {first.position:.2f}"
    if trial is not None and best != chosen.on_trial:
        sentence += _against(first, trial)
    elif _good_enough(ranked, question, chosen) and len(ranked) > 1:
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
