"""Plausibility: do the weights mark the words people marked? A question of its own: a map can
look right and have nothing to do with the decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from heedful.verdict.evaluation import Property, evaluate_property
from heedful.verdict.inference import difference
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Cell, Table, best_floor, cell

DECIDES = "auprc"
SHOWN = ("token_f1", "iou_f1", "mass_inside")
PEOPLE = "annotators"


def plausibility(table: Table, chosen: Settings) -> Statement:
    """AUPRC decides, since it needs no cut-off; the rest is shown beside."""
    found = evaluate_property(
        PLAUSIBILITY, lambda model: _cells(table, model, chosen), table, chosen
    )
    shown = {
        measure: float(wide[chosen.on_trial].mean())
        for measure in SHOWN
        if chosen.on_trial in (wide := table.get(table.main, measure)).columns
    }
    people = table.get(table.main, DECIDES)
    ceiling = float(people[PEOPLE].mean()) if PEOPLE in people.columns else found.ceiling
    return replace(found, numbers={**found.numbers, **shown}, ceiling=ceiling)


PLAUSIBILITY = Property(
    name="plausibility",
    order=8,
    question="Do the weights mark the words that people marked?",
    unit="AUPRC on human rationales above the better floor",
    evaluate=plausibility,
    # about what separates neighbouring methods in published tables of rationales
    smallest_effect=0.05,
    formula=difference,
    side="measure",
    sides="measures",
    missing="needs rationales: the spans that people marked.",
)


def _cells(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    wide = table.get(model, DECIDES)
    floor = best_floor(wide, chosen.floors)
    if floor and chosen.on_trial in wide.columns:
        columns = [(chosen.on_trial, wide[chosen.on_trial]), (floor, wide[floor])]
        yield cell(DECIDES, "", columns)
