"""What a property is, and how every decided one is evaluated: usable cells, an estimate with
bounds, strata, and the share of examples that fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from heedful.verdict.inference import (
    Clusters,
    Comparison,
    Formula,
    closed,
    compare_with_threshold,
    estimate_of,
    first,
    position,
    sample,
)
from heedful.verdict.settings import Settings, level_of
from heedful.verdict.statement import NAN, Decision, Part, Statement, Stratum, not_measured
from heedful.verdict.table import Cell, Table, cell
from heedful.verdict.usability import key_of, parts_of

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

    def __call__(self, table: Table, chosen: Settings) -> Statement:
        return self.evaluate(table, chosen)

    @property
    def relative(self) -> bool:
        """Whether the estimate is a share of the way from floor to ceiling."""
        return self.formula is position

    def side_of(self, cell: Cell) -> str:
        return str(getattr(cell, self.side))


def evaluate_property(
    asked: Property, cells_of: Callable[[str], Iterable[Cell]], table: Table, chosen: Settings
) -> Statement:
    """`cells_of` gives the cells of a model by name. Health is judged on the first checkpoint,
    whether floor and ceiling are apart on each of them, since each is divided by its own gap;
    and all checkpoints are put together on the cells that passed."""
    measured = [found for name in table.checkpoints if (found := tuple(cells_of(name)))]
    if not measured:
        return not_measured(asked.name, asked.unit, asked.missing)
    random = tuple(cells_of("randomised"))
    gap = chosen.smallest_gap if asked.gap else None
    parts = parts_of(measured, random, asked.formula, (gap, asked.drops), table.cluster_of, chosen)
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
    groups = _strata(cells, asked.formula, table.examples, chosen)
    scored = [part for part in parts if part.usable]
    sides = _means_by_side(asked, cells)
    return Statement(
        asked.name,
        Decision.INCONCLUSIVE,
        asked.unit,
        threshold=threshold,
        **asdict(compared),
        floor=_mean([part.floor for part in scored]),
        ceiling=_mean([part.ceiling for part in scored]),
        n=len({name for part in cells for cell in part for name in cell.examples}),
        undefined=sum(part.undefined for part in parts),
        share_failing=_share_failing(cells, asked.formula, threshold),
        macro=_mean([each.estimate for each in groups["class"]]),
        blocked=_blocked(asked, list(sides), compared, chosen),
        parts=parts,
        by_class=groups["class"],
        by_length=groups["length"],
        by_confidence=groups["confidence"],
        notes=(_seeds_note(compared),),
        warnings=tuple(_warnings(asked, sides, groups["class"], threshold, chosen.fewest)),
        numbers=sides,
    )


def _unusable(asked: Property, parts: tuple[Part, ...], chosen: Settings) -> Statement:
    reasons = sorted({part.reason for part in parts})
    return Statement(
        asked.name,
        Decision.UNUSABLE,
        asked.unit,
        threshold=chosen.effect(asked.name),
        undefined=sum(part.undefined for part in parts),
        blocked=f"unusable here: {'; '.join(reasons)}.",
        parts=parts,
    )


def _common(measured: Checkpoints, usable: Sequence[tuple[str, str]]) -> list[Cells]:
    """Each checkpoint's usable cells; one that lacks any of them (or any example) is left out,
    since a mean over other cells is another mean."""
    known = [{key_of(cell): cell for cell in cells if cell.examples} for cells in measured]
    whole = [cells for cells in known if all(key in cells for key in usable)]
    return [tuple(cells[key] for key in usable) for cells in whole]


def _blocked(asked: Property, sides: Sequence[str], found: Comparison, chosen: Settings) -> str:
    """Why there is no decision whatever the numbers say."""
    if found.clusters < chosen.fewest:
        return f"too few examples: {found.clusters}, at least {chosen.fewest} are needed."
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
        values.setdefault(asked.side_of(each), []).append(estimate_of(each.values, asked.formula))
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
    cells: Checkpoints, formula: Formula, examples: pd.DataFrame, chosen: Settings
) -> dict[str, tuple[Stratum, ...]]:
    """By predicted class, length and confidence: a mean can hide two halves. Quarters are of the
    examples that were measured; equal ones share a quarter."""
    used = sorted({name for part in cells for cell in part for name in cell.examples})
    known = examples.loc[used]
    cluster_of = dict(zip(used, known["cluster"], strict=True))
    groups = {
        "class": known["predicted"],
        "length": _quarters(known["length"]),
        "confidence": _quarters(known["confidence"]),
    }
    return {
        kind: tuple(_stratum_by(kind, cells, formula, group, cluster_of, chosen.alpha))
        for kind, group in groups.items()
    }


def _stratum_by(
    kind: str,
    cells: Checkpoints,
    formula: Formula,
    groups: pd.Series,
    cluster_of: Clusters,
    alpha: float,
) -> Iterator[Stratum]:
    for group in sorted(groups.dropna().unique()):
        inside = set(groups.index[groups == group])
        part = [[cell.among(inside) for cell in checkpoint] for checkpoint in cells]
        if any(len(cell.examples) == 0 for checkpoint in part for cell in checkpoint):
            continue
        drawn = sample(part, cluster_of)
        value, low, high = closed(drawn, formula, alpha)
        members = {name for checkpoint in part for cell in checkpoint for name in cell.examples}
        yield Stratum(f"{kind}={int(group)}", value, low, high, len(members), drawn.clusters)


def _quarters(values: pd.Series) -> pd.Series:
    known = values.dropna()
    if known.empty:
        return values
    edges = np.quantile(known, [0.25, 0.5, 0.75])
    return pd.Series(np.searchsorted(edges, known) + 1, index=known.index)


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
        return not_measured(asked.name, asked.unit, asked.missing)
    main = sample([[cells[0]]], table.cluster_of)
    value, low, high = closed(main, first, chosen.alpha)
    means = {each.measure: float(each.values.mean()) for each in cells}
    return Statement(
        asked.name,
        Decision.REPORTED,
        asked.unit,
        estimate=value,
        low=low,
        high=high,
        n=len(cells[0].examples),
        clusters=main.clusters,
        checkpoints=1,
        undefined=sum(each.undefined for each in cells),
        parts=tuple(_reported_part(each, means[each.measure]) for each in cells),
        numbers=means,
    )


def _reported_part(each: Cell, mean: float) -> Part:
    size, undefined = len(each.examples), each.undefined
    return Part(each.measure, "", mean, mean, NAN, NAN, "", size, undefined, True)
