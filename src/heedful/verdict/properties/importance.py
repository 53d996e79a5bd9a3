"""Importance: do the heavy words matter to the prediction, for it or against it?"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heedful.verdict.evaluation import Property, evaluate_property
from heedful.verdict.inference import position
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Cell, Table, cell

MEASURE = "importance_captured"
RANDOM = 0.0
"""What a random order captures on average, exactly: it need not be drawn."""


def importance(table: Table, chosen: Settings) -> Statement:
    """Under at least two operators, none of which made the explanation."""
    return evaluate_property(
        IMPORTANCE,
        lambda model: importance_cells(table, model, chosen.on_trial, chosen),
        table,
        chosen,
    )


IMPORTANCE = Property(
    name="importance",
    order=2,
    question="Are the heavy words the ones that matter, for the prediction or against it?",
    unit="of the way from a random order to the best order of words by importance",
    evaluate=importance,
    # Two thirds of the way from a random order to the best one. Weights that put a wrong word first
    # in two examples of three and the word that decides second stay below that; chosen on the
    # development models of the benchmark.
    smallest_effect=0.67,
    required=True,
    failure="does not mark the words that matter",
    formula=position,
    sides="removal operators",
    least=2,
    gap=True,
)


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
