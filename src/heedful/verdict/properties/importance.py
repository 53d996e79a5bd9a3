"""Importance: do the heavy words matter to the prediction, for it or against it?"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, cell
from heedful.verdict.formulas import position
from heedful.verdict.question import Question
from heedful.verdict.settings import REQUIRED, Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

MEASURE = "importance_captured"
RANDOM = 0.0
"""What a random order captures on average, exactly: it need not be drawn."""
UNIT = "of the way from a random order to the best order of words by importance"


def importance(table: Table, chosen: Settings) -> Statement:
    """Under at least two operators, none of which made the explanation."""
    question = Question(
        property="importance",
        unit=UNIT,
        formula=position,
        threshold=chosen.effect("importance"),
        sides=lambda cell: cell.operator,
        what="removal operators",
        least=2,
        gap=chosen.smallest_gap,
        together=len(REQUIRED),
    )

    def cells_of(model: str) -> tuple[Cell, ...]:
        return tuple(importance_cells(table, model, chosen.on_trial, chosen))

    return assess(question, table, cells_of, chosen)


def importance_cells(
    table: Table, model: str, explanation: str, chosen: Settings
) -> Iterator[Cell]:
    """The measure under every operator that did not make the explanation; none for a randomised
    model, whose words matter as well."""
    for operator, wide in scored(table, model, explanation, chosen):
        if chosen.ceiling in wide.columns:
            random = pd.Series(RANDOM, index=wide.index)
            columns = [(explanation, wide[explanation]), ("random", random)]
            yield cell(MEASURE, operator, [*columns, (chosen.ceiling, wide[chosen.ceiling])])


def scored(
    table: Table, model: str, explanation: str, chosen: Settings
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The operators that may score an explanation, each with examples × explanations."""
    if model == "randomised":
        return
    for operator in chosen.operators or table.operators(MEASURE):
        wide = table.get(model, MEASURE, operator)
        if operator not in chosen.made_with(explanation) and explanation in wide.columns:
            yield operator, wide
