"""Agreement: do the weights rank words as independent measures of importance do?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, best_floor, cell
from heedful.verdict.formulas import position
from heedful.verdict.question import Question
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement, not_measured
from heedful.verdict.table import Table

UNIT = "tau-b of the way from a prior or chance to the agreement between importance measures"


def agreement(table: Table, chosen: Settings) -> Statement:
    """The ceiling of tau with a measure is how well the other importance measures agree with
    it: attention is not asked to do better than they do among themselves."""
    question = Question(
        property="agreement",
        unit=UNIT,
        formula=position,
        threshold=chosen.effect("agreement"),
        sides=lambda cell: cell.measure,
        what="importance measures",
        least=2,
    )
    found = assess(question, table, lambda model: tuple(_cells(table, model, chosen)), chosen)
    if not found.parts and any(table.measures("tau:")):
        return not_measured("agreement", UNIT, "needs tau with at least two importance measures.")
    return found


def _cells(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    known = chosen.importance or tuple(name[4:] for name in table.measures("tau:"))
    for name in known:
        measure = f"tau:{name}"
        for operator in table.operators(measure):
            wide = table.get(model, measure, operator)
            others = [each for each in known if each != name and each in wide.columns]
            if chosen.on_trial in wide.columns and others:
                yield _cell(measure, operator, wide, others, chosen)


def _cell(
    measure: str, operator: str, wide: pd.DataFrame, others: Sequence[str], chosen: Settings
) -> Cell:
    """Without a measured floor it is chance, whose tau-b is 0."""
    floor = best_floor(wide, chosen.floors)
    zero = pd.Series(0.0, index=wide.index)
    columns = [
        (chosen.on_trial, wide[chosen.on_trial]),
        (floor or "chance", wide[floor] if floor else zero),
        ("other importance measures", wide[list(others)].mean(axis=1)),
    ]
    return cell(measure, operator, columns)
