"""Sensitivity: does the output move when the weights do?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, cell
from heedful.verdict.formulas import difference
from heedful.verdict.question import Question
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table


def sensitivity(table: Table, chosen: Settings) -> Statement:
    """Two ways to move weights: permute them all (the floor is 0: permuting uniform weights
    changes nothing) and erase the heaviest item (the floor is erasing another at random)."""
    question = Question(
        property="sensitivity",
        unit="change of the output above the floor (TVD)",
        formula=difference,
        threshold=chosen.effect("sensitivity"),
        sides=lambda cell: cell.measure,
        what="ways to move attention",
    )
    found = assess(question, table, lambda model: tuple(_cells(table, model, chosen)), chosen)
    best = [_column(table, model, "tvd_best", chosen) for model in table.checkpoints]
    known = [float(each.mean()) for each in best if each.notna().any()]
    return replace(found, ceiling=float(np.mean(known))) if known else found


def _cells(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    permuted = _column(table, model, "tvd_permuted", chosen)
    if permuted.empty and not (once := table.get(model, "tvd", "permute")).empty:
        permuted = once.iloc[:, 0]
    if not permuted.empty:
        nothing = pd.Series(0.0, index=permuted.index)
        yield cell("permuted", "", [(chosen.on_trial, permuted), ("uniform weights", nothing)])
    top, other = (_column(table, model, name, chosen) for name in ("tvd_top", "tvd_random"))
    if not (top.empty or other.empty):
        columns = [("heaviest item", top), ("random item", other)]
        yield cell("heaviest item erased", "", columns)


def _column(table: Table, model: str, measure: str, chosen: Settings) -> pd.Series:
    wide = table.get(model, measure)
    if chosen.on_trial in wide.columns:
        return wide[chosen.on_trial]
    return pd.Series(dtype="float64")
