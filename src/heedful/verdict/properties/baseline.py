"""Baseline: do the weights say more than word frequency and position say without the model?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, best_floor, cell
from heedful.verdict.formulas import difference
from heedful.verdict.properties.importance import MEASURE, scored
from heedful.verdict.question import Question
from heedful.verdict.settings import REQUIRED, Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

UNIT = "more of the importance captured than by the better model-free baseline"


def baseline(table: Table, chosen: Settings) -> Statement:
    """Paired differences to the better of what can be said of the words without the model."""
    question = Question(
        property="baseline",
        unit=UNIT,
        formula=difference,
        threshold=chosen.effect("baseline"),
        sides=lambda cell: cell.operator,
        what="removal operators",
        least=2,
        together=len(REQUIRED),
    )
    found = assess(question, table, lambda model: tuple(_leads(table, model, chosen)), chosen)
    names = sorted({part.floor_name for part in found.parts})
    note = f"the better model-free baseline here: {', '.join(names)}."
    return replace(found, notes=(*found.notes, note)) if names else found


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
