"""What a property is, and how every decided one is evaluated: usable cells, an estimate with
bounds, strata, and the share of examples that fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from heedful.metrics import quarters
from heedful.verdict.inference import (
    Clusters,
    Comparison,
    Formula,
    closed_form,
    compare_with_threshold,
    estimate,
    estimate_of,
    first,
    position,
    sample,
)
from heedful.verdict.settings import Settings, level_of
from heedful.verdict.statement import NAN, Decision, Part, Statement, Stratum
from heedful.verdict.table import Cell, Table, cell

Cells = tuple[Cell, ...]
Checkpoints = Sequence[Cells]


@dataclass(frozen=True)
class Property:
    """A property of attention that a verdict speaks about. Define one in a module of `properties/`
    and it is evaluated, decided and shown.

    Shown are its `question` and `unit`, in the place `order` gives it. `evaluate` makes its
    statement, most often by `evaluate_property`, which estimates the `formula` of the cells.

    One with a `smallest_effect` is decided against that. If it is `required`, attention must pass
    it to be shown as an explanation; `failure` says in the headline what attention does not do.

    Cells are averaged over their `side`, an operator or a measure, of which there must be `least`;
    `sides` is what a reader calls them. If `gap`, floor and ceiling must clearly be apart in every
    cell; `drops` are two columns whose distance must shrink when weights are randomised. `missing`
    says what it takes to measure the property."""

    name: str
    order: int
    question: str
    unit: str
    evaluate: Callable[[Table, Settings], Statement]
    smallest_effect: float | None = None
    required: bool = False
    failure: str = ""
    formula: Formula = first
    side: str = "operator"
    sides: str = "operators"
    least: int = 1
    gap: bool = False
    drops: tuple[int, int] | None = None
    missing: str = "not asked for, or not possible here."

    def without_number(self, decision: Decision, reason: str) -> Statement:
        """Where the measurements are not there, or the question is not answered: said, not
        guessed."""
        return Statement(self.name, decision, self.unit, blocked=reason, notes=(reason,))


def evaluate_property(
    asked: Property,
    cells_of: Callable[[Table, str, str, Settings], Iterable[Cell]],
    table: Table,
    chosen: Settings,
) -> Statement:
    """`cells_of` gives the cells of a model and an explanation. Whether a cell can be used is
    checked on the first checkpoint, the gap between floor and ceiling on each of them, since each
    is divided by its own gap. All checkpoints are then put together on the cells that passed."""
    trial = chosen.on_trial
    by_checkpoint = (tuple(cells_of(table, name, trial, chosen)) for name in table.checkpoints)
    measured = [cells for cells in by_checkpoint if cells]
    if not measured:
        return asked.without_number(Decision.NOT_MEASURED, asked.missing)
    randomised = {key_of(cell): cell for cell in cells_of(table, "randomised", trial, chosen)}
    parts = tuple(
        _part(asked, cell, measured[1:], randomised, table, chosen) for cell in measured[0]
    )
    usable = [key_of(cell) for cell, part in zip(measured[0], parts, strict=True) if part.usable]
    if not usable:
        return _unusable(asked, parts, chosen)
    cells, threshold = _common(measured, usable), chosen.effect(asked.name)
    compared = compare_with_threshold(
        sample(cells, table.cluster_of),
        asked.formula,
        threshold,
        level_of(asked.name, chosen),
        chosen.resamples,
        chosen.seed,
    )
    groups = dict(_strata(cells, asked.formula, table, chosen))
    scored = [part for part in parts if part.usable]
    sides, n = _means_by_side(asked, cells), len(_examples(cells))
    return Statement(
        asked.name,
        Decision.INCONCLUSIVE,
        asked.unit,
        threshold=threshold,
        **asdict(compared),
        floor=_mean([part.floor for part in scored]),
        ceiling=_mean([part.ceiling for part in scored]),
        n=n,
        undefined=sum(part.undefined for part in parts),
        share_failing=_share_failing(cells, asked.formula, threshold),
        macro=_mean([each.estimate for each in groups["class"]]),
        blocked=_blocked(asked, list(sides), compared, n, chosen),
        parts=parts,
        by_class=groups["class"],
        by_length=groups["length"],
        by_confidence=groups["confidence"],
        notes=(_seeds_note(compared),),
        warnings=tuple(_warnings(asked, sides, groups["class"], threshold, chosen.fewest)),
        numbers=sides,
    )


def _unusable(asked: Property, parts: tuple[Part, ...], chosen: Settings) -> Statement:
    reasons = "; ".join(sorted({part.reason for part in parts}))
    said = asked.without_number(Decision.UNUSABLE, f"unusable here: {reasons}.")
    undefined = sum(part.undefined for part in parts)
    return replace(said, threshold=chosen.effect(asked.name), undefined=undefined, parts=parts)


def _common(measured: Checkpoints, usable: Sequence[tuple[str, str]]) -> list[Cells]:
    """Each checkpoint's usable cells; one that lacks any of them (or any example) is left out,
    since a mean over other cells is another mean."""
    known = [{key_of(cell): cell for cell in cells if cell.examples} for cells in measured]
    whole = [cells for cells in known if all(key in cells for key in usable)]
    return [tuple(cells[key] for key in usable) for cells in whole]


def _blocked(
    asked: Property, sides: Sequence[str], found: Comparison, n: int, chosen: Settings
) -> str:
    """Why there is no decision whatever the numbers of these n examples say."""
    if found.clusters < chosen.fewest:
        once = " (texts that are equal or share a cluster count once)" if found.clusters < n else ""
        return f"too few examples: {found.clusters}{once}, at least {chosen.fewest} are needed."
    if len(sides) < asked.least:
        return f"needs at least {asked.least} {asked.sides}, usable here: {', '.join(sides)}."
    return ""


def _seeds_note(found: Comparison) -> str:
    if found.checkpoints == 1:
        return "conditional on this checkpoint: another seed was not tried."
    return f"over {found.checkpoints} checkpoints; seeds and examples are crossed."


def _means_by_side(asked: Property, cells: Checkpoints) -> Mapping[str, float]:
    """The spread: the estimate by operator or measure, averaged over checkpoints."""
    values: dict[str, list[float]] = {}
    for each in (each for part in cells for each in part):
        side = str(getattr(each, asked.side))
        values.setdefault(side, []).append(estimate_of(each.values, asked.formula))
    return {name: _mean(found) for name, found in sorted(values.items())}


def _warnings(
    asked: Property,
    sides: Mapping[str, float],
    classes: Sequence[Stratum],
    threshold: float,
    fewest: int,
) -> Iterator[str]:
    """Averages that hide different answers."""
    if text := apart(sides, threshold):
        yield f"{asked.name}: {asked.sides} disagree: {text}"
    enough = [each for each in classes if each.clusters >= fewest]
    above = [each.group for each in enough if each.low > threshold]
    below = [each.group for each in enough if each.high < threshold]
    if above and below:
        text = f"{', '.join(above)} above, {', '.join(below)} below."
        yield f"{asked.name}: predicted classes disagree: {text}"


def apart(estimates: Mapping[str, float], threshold: float) -> str:
    """Which estimates lie on either side of the threshold; "" where all lie on one."""
    above = [name for name, value in estimates.items() if value >= threshold]
    below = [name for name in estimates if name not in above]
    if not (above and below):
        return ""
    return f"{', '.join(above)} above the threshold, {', '.join(below)} below."


def _share_failing(cells: Checkpoints, formula: Formula, threshold: float) -> float:
    """Examples that by themselves fall short of the threshold. A ratio is compared without
    dividing, each cell in units of its mean gap; examples where it could not be told (no gap
    at all) are left out."""
    columns = [
        pd.Series(_margins(cell, formula, threshold), index=list(cell.examples), dtype="float64")
        for part in cells
        for cell in part
    ]
    margin = pd.concat(columns, axis=1, sort=True).mean(axis=1).dropna()
    return float((margin < 0).mean()) if len(margin) else NAN


def _margins(cell: Cell, formula: Formula, threshold: float) -> np.ndarray:
    if formula is not position:
        return formula(cell.values).value - threshold
    value, floor, ceiling = cell.values.T
    gap = ceiling - floor
    margin = (value - floor - threshold * gap) / (gap.mean() or 1.0)
    return np.where((gap == 0) & (value == floor), np.nan, margin)


def _strata(
    cells: Checkpoints, formula: Formula, table: Table, chosen: Settings
) -> Iterator[tuple[str, tuple[Stratum, ...]]]:
    """By predicted class, length and confidence: a mean can hide two halves. Quarters are of the
    examples that were measured; equal ones share a quarter."""
    known = table.examples.loc[sorted(_examples(cells))]
    groups = {
        "class": known["predicted"],
        "length": quarters(known["length"]),
        "confidence": quarters(known["confidence"]),
    }
    for kind, group in groups.items():
        strata = []
        for number in sorted(group.dropna().unique()):
            inside = set(group.index[group == number])
            part = [[cell.among(inside) for cell in checkpoint] for checkpoint in cells]
            if all(cell.examples for checkpoint in part for cell in checkpoint):
                found = closed_form(sample(part, table.cluster_of), formula, chosen.alpha)
                bounds = found.estimate, found.low, found.high
                count = len(_examples(part))
                strata.append(Stratum(f"{kind}={int(number)}", *bounds, count, found.clusters))
        yield kind, tuple(strata)


def _examples(cells: Iterable[Iterable[Cell]]) -> set[str]:
    return {name for checkpoint in cells for cell in checkpoint for name in cell.examples}


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else NAN


def means_of(measures: Sequence[str], table: Table, chosen: Settings) -> tuple[list[Cell], ...]:
    """A cell per measure of the explanation on trial, by checkpoint that has any."""
    by_checkpoint = (
        [
            cell(measure, "", [(chosen.on_trial, wide[chosen.on_trial])])
            for measure in measures
            if chosen.on_trial in (wide := table.get(model, measure)).columns
        ]
        for model in table.checkpoints
    )
    return tuple(cells for cells in by_checkpoint if cells)


def report_means(
    asked: Property, measures: Sequence[str], table: Table, chosen: Settings
) -> Statement:
    """For a property that is reported and never decided: means with bounds at the first checkpoint.
    The first measure is the statement's own number; all are listed as its parts."""
    measured = means_of(measures, table, chosen)
    cells = [each for each in measured[0] if each.examples] if measured else []
    if not cells:
        return asked.without_number(Decision.NOT_MEASURED, asked.missing)
    main = closed_form(sample([[cells[0]]], table.cluster_of), first, chosen.alpha)
    parts = tuple(_part(asked, each, (), {}, table, chosen) for each in cells)
    return Statement(
        asked.name,
        Decision.REPORTED,
        asked.unit,
        estimate=main.estimate,
        low=main.low,
        high=main.high,
        n=len(cells[0].examples),
        clusters=main.clusters,
        checkpoints=1,
        undefined=sum(each.undefined for each in cells),
        parts=parts,
        numbers={part.measure: part.value for part in parts},
    )


# Whether a measure can be used on this model: its floor and ceiling are clearly apart, and it sees
# what the model learned.


def key_of(cell: Cell) -> tuple[str, str]:
    return cell.measure, cell.operator


def _part(
    asked: Property,
    cell: Cell,
    others: Checkpoints,
    randomised: Mapping[tuple[str, str], Cell],
    table: Table,
    chosen: Settings,
) -> Part:
    """A cell of the first checkpoint and why it cannot be used. A ratio can be used only where the
    gap it divides by is there at every checkpoint."""
    reason = _reason(asked, cell, randomised.get(key_of(cell)), table.cluster_of, chosen)
    if asked.gap and not reason:
        same = (other for cells in others for other in cells if key_of(other) == key_of(cell))
        gaps = (_gap(other, table.cluster_of, chosen) for other in same)
        reason = next((f"{gap} at every checkpoint" for gap in gaps if gap), "")
    means = [float(mean) for mean in cell.values.mean(0)] if cell.examples else []
    value, floor, ceiling = (*means, NAN, NAN, NAN)[:3]
    return Part(
        cell.measure,
        cell.operator,
        estimate_of(cell.values, asked.formula),
        value,
        floor,
        ceiling,
        cell.names[1] if len(cell.names) > 1 else "",
        len(cell.examples),
        cell.undefined,
        not reason,
        reason,
    )


def _reason(
    asked: Property, cell: Cell, random: Cell | None, cluster_of: Clusters, chosen: Settings
) -> str:
    """Why a cell is unusable; "" where it is not. From a handful of examples nothing can be told,
    nor is it held against the measure: the statement will be inconclusive for that."""
    if not cell.examples:
        return "no example has it defined"
    if asked.gap and (close := _gap(cell, cluster_of, chosen)):
        return close
    if not asked.drops or _few(cell, cluster_of, chosen):
        return ""
    return drop_reason(cell, random, asked.drops, cluster_of, chosen.alpha)


def _few(cell: Cell, cluster_of: Clusters, chosen: Settings) -> bool:
    return len({cluster_of[name] for name in cell.examples}) < chosen.fewest


def _gap(cell: Cell, cluster_of: Clusters, chosen: Settings) -> str:
    few = _few(cell, cluster_of, chosen)
    return "" if few else gap_reason(cell, chosen.smallest_gap, cluster_of, chosen.alpha)


def gap_reason(candidate: Cell, least: float, cluster_of: Clusters, alpha: float) -> str:
    """Why floor and ceiling cannot be told apart; "" where they clearly are by `least`.

    A ceiling that is the best of many orders, the floors among them, is above the floor
    whatever the model does: there only a gap of some size says that the order of words
    matters at all."""
    if contrast([[candidate]], (0.0, -1.0, 1.0), cluster_of, alpha).low > least:
        return ""
    by = f" by more than {least:g}" if least else ""
    return f"floor and ceiling cannot be told apart{by}"


def contrast(
    checkpoints: Sequence[Sequence[Cell]],
    weights: Sequence[float],
    cluster_of: Clusters,
    alpha: float,
) -> Comparison:
    """A weighted sum of the columns, averaged over cells: its estimate and one-sided bounds over
    clusters, and over checkpoints where there are several."""
    sums = [[_one_column(e, e.sign * e.values @ weights) for e in cells] for cells in checkpoints]
    return closed_form(sample(sums, cluster_of), first, alpha)


def drop_reason(
    base: Cell,
    random: Cell | None,
    columns: tuple[int, int],
    cluster_of: Clusters,
    alpha: float,
) -> str:
    """Why the measure is blind to what the model learned; "" where it is not.

    Compared is how far one column stands above another (the ceiling or the explanation above the
    floor) in the model and after its weights were randomised. Without a randomised model nothing
    is said.
    """
    if random is None or not random.examples:
        return ""
    upper, lower = columns
    trained, untrained = (
        _one_column(cell, cell.sign * (cell.values[:, upper] - cell.values[:, lower]))
        for cell in (base, random)
    )
    low = _low_drop(trained, untrained, cluster_of, alpha)
    return "" if low > 0 else "does not drop when the model's weights are randomised"


def _one_column(cell: Cell, values: np.ndarray) -> Cell:
    return Cell("", "", ("",), cell.examples, values[:, None], 0)


def _low_drop(base: Cell, random: Cell, cluster_of: Clusters, alpha: float) -> float:
    """The lower bound of the difference of two means, the second over some of the examples:
    a random choice of them, so the first need not do without the others. Clusters in both
    count as such, and the freedom is that of the fewer."""
    few = sample([[random]], cluster_of).clusters
    if few < 2:
        return math.nan
    minus = replace(random, values=-random.values)
    half = estimate(sample([[base, minus]], cluster_of), first)  # a mean over two cells
    error = 2 * float(half.error[0]) * math.sqrt(few / (few - 1))
    return 2 * float(half.value[0]) - float(stats.t.ppf(1 - alpha, few - 1)) * error
