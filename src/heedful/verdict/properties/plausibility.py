"""Plausibility: do the weights mark the words people marked? A question of its own: a map can
look right and have nothing to do with the decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, best_floor, cell
from heedful.verdict.formulas import difference
from heedful.verdict.question import Question
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

DECIDES = "auprc"
SHOWN = ("token_f1", "iou_f1", "mass_inside")
PEOPLE = "annotators"


def plausibility(table: Table, chosen: Settings) -> Statement:
    """AUPRC decides, since it needs no cut-off; the rest is shown beside."""
    question = Question(
        property="plausibility",
        unit="AUPRC on human rationales above the better floor",
        formula=difference,
        threshold=chosen.effect("plausibility"),
        sides=lambda cell: cell.measure,
        what="measures",
        missing="needs rationales: the spans that people marked.",
    )

    def cells_of(model: str) -> tuple[Cell, ...]:
        return tuple(_cells(table, model, chosen))

    found = assess(question, table, cells_of, chosen)
    numbers = {**found.numbers, **_shown(table, chosen)}
    people = table.get(table.main, DECIDES)
    ceiling = float(people[PEOPLE].mean()) if PEOPLE in people.columns else found.ceiling
    return replace(found, numbers=numbers, ceiling=ceiling)


def _cells(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    wide = table.get(model, DECIDES)
    floor = best_floor(wide, chosen.floors)
    if floor and chosen.on_trial in wide.columns:
        columns = [(chosen.on_trial, wide[chosen.on_trial]), (floor, wide[floor])]
        yield cell(DECIDES, "", columns)


def _shown(table: Table, chosen: Settings) -> dict[str, float]:
    return {
        measure: float(wide[chosen.on_trial].mean())
        for measure in SHOWN
        if chosen.on_trial in (wide := table.get(table.main, measure)).columns
    }
