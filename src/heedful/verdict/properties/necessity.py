"""Necessity: does the model need its attention? A precondition of everything else."""

from __future__ import annotations

from dataclasses import replace

from heedful.verdict.assess import assess
from heedful.verdict.cell import cell
from heedful.verdict.formulas import difference
from heedful.verdict.question import Cells, Question
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table
from heedful.verdict.weigh import estimate_of

INFERENCE = ("uniform", "permute")
TRAINED = "uniform_trained"


def necessity(table: Table, chosen: Settings) -> Statement:
    """The drop of accuracy under uniform and permuted attention, at inference only. A model
    trained with uniform attention is another model, so it is shown beside and decides nothing."""
    question = Question(
        property="necessity",
        unit="drop of accuracy without its attention, inference only",
        formula=difference,
        threshold=chosen.effect("necessity"),
        sides=lambda cell: cell.operator,
        what="edits of attention",
    )

    def cells_of(model: str) -> Cells:
        # A randomised model has no accuracy to lose: this measure needs no such check.
        return () if model == "randomised" else _drops(table, model, INFERENCE)

    found = assess(question, table, cells_of, chosen)
    return _with_trained(found, table)


def _drops(table: Table, model: str, edits: tuple[str, ...]) -> Cells:
    whole = table.get(model, "correct")
    edited = {edit: table.get(model, "correct", edit) for edit in edits}
    return tuple(
        cell("correct", edit, [("untouched", whole.iloc[:, 0]), (edit, each.iloc[:, 0])])
        for edit, each in edited.items()
        if not whole.empty and not each.empty
    )


def _with_trained(statement: Statement, table: Table) -> Statement:
    drops = [
        estimate_of(each.values, difference)
        for model in table.checkpoints
        for each in _drops(table, model, (TRAINED,))
        if each.examples
    ]
    if not drops:
        return statement
    drop = sum(drops) / len(drops)
    note = f"trained with uniform attention, the accuracy drops by {drop:.3f}."
    warnings = statement.warnings
    if statement.estimate >= statement.threshold > drop:
        text = "necessity: trained without attention the model does about as well."
        warnings = (*warnings, text)
    numbers = {**statement.numbers, TRAINED: drop}
    return replace(statement, notes=(*statement.notes, note), warnings=warnings, numbers=numbers)
