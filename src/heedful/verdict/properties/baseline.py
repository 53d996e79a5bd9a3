"""Baseline: do the weights say more than word frequency and position say without the model?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from heedful.verdict.evaluation import Property, evaluate_property
from heedful.verdict.inference import difference
from heedful.verdict.properties.importance import MEASURE, scored
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Cell, Table, best_floor, cell


def baseline(table: Table, chosen: Settings) -> Statement:
    """Paired differences to the better of what can be said of the words without the model."""
    found = evaluate_property(BASELINE, lambda model: _leads(table, model, chosen), table, chosen)
    names = sorted({part.floor_name for part in found.parts})
    note = f"the better model-free baseline here: {', '.join(names)}."
    return replace(found, notes=(*found.notes, note)) if names else found


BASELINE = Property(
    name="baseline",
    order=3,
    question="Do they say more than word frequency and position say without the model?",
    unit="more of the importance captured than by the better model-free baseline",
    evaluate=baseline,
    # any clear lead over what can be said of the words without the model
    smallest_effect=0.0,
    required=True,
    failure="tells no more than word frequency or position",
    formula=difference,
    sides="removal operators",
    least=2,
)


def _leads(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    """The same baseline under all operators: the one that is harder to beat on average."""
    known = list(scored(table, model, chosen.on_trial, chosen))
    if not known:
        return
    floor = best_floor(pd.concat([wide for _, wide in known]), chosen.model_free)
    for operator, wide in known:
        if floor in wide.columns:
            columns = [(chosen.on_trial, wide[chosen.on_trial]), (floor, wide[floor])]
            yield cell(MEASURE, operator, columns)
