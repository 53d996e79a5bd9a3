"""Properties that are reported and never decided: means with bounds, and the share of examples."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.verdict.cell import Cell, cell
from heedful.verdict.decide import Decision
from heedful.verdict.formulas import first
from heedful.verdict.resample import sample
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Part, Statement
from heedful.verdict.table import Table
from heedful.verdict.weigh import closed


def means_of(table: Table, measures: Sequence[str], chosen: Settings) -> tuple[list[Cell], ...]:
    """A cell per measure of the explanation on trial, by checkpoint."""
    return tuple(
        [
            cell(measure, "", [(chosen.on_trial, wide[chosen.on_trial])])
            for measure in measures
            if chosen.on_trial in (wide := table.get(model, measure)).columns
        ]
        for model in table.checkpoints
    )


def report(
    name: str, unit: str, cells: Sequence[Cell], table: Table, chosen: Settings
) -> Statement:
    """The first measure is the statement's own number; all are listed as its parts."""
    cluster_of = table.cluster_of
    main = sample([[cells[0]]], cluster_of)
    value, low, high = closed(main, first, chosen.alpha)
    return Statement(
        name,
        Decision.REPORTED,
        unit,
        estimate=value,
        low=low,
        high=high,
        n=len(cells[0].examples),
        clusters=main.clusters,
        checkpoints=1,
        undefined=sum(each.undefined for each in cells),
        parts=tuple(_part(each) for each in cells),
        numbers={each.measure: float(each.values.mean()) for each in cells},
    )


def _part(each: Cell) -> Part:
    mean = float(each.values.mean())
    size = len(each.examples)
    return Part(each.measure, "", mean, mean, NAN, NAN, "", size, each.undefined, True)
