"""Use: does the output move when the weights do? Attention that nothing reads explains nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from heedful.verdict.evaluation import Property, evaluate_property
from heedful.verdict.inference import difference, estimate_of
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Cell, Table, cell

EDITS = ("uniform", "permute")
TRAINED = "uniform_trained"


def use(table: Table, chosen: Settings) -> Statement:
    """On the scale of probabilities, so it needs no labels. How much accuracy is lost is shown
    beside it: a model can use its attention in every text and answer as well without."""

    def cells_of(model: str) -> Iterator[Cell]:
        # a randomised model may use its attention as well: there is nothing to check
        return iter(()) if model == "randomised" else _cells(table, model, chosen)

    found = evaluate_property(USE, cells_of, table, chosen)
    return _with_trained(replace(found, numbers={**found.numbers, **_beside(table, chosen)}), table)


USE = Property(
    name="use",
    order=1,
    question="Does the output move when the weights do?",
    unit="change of the output (TVD) under uniform and permuted weights",
    evaluate=use,
    # two points of probability: a reader cannot see a smaller change of a probability
    smallest_effect=0.02,
    required=True,
    sides="changes of attention",
)


def _cells(table: Table, model: str, chosen: Settings) -> Iterator[Cell]:
    for edit in EDITS:
        moved = _column(table, model, "tvd_permuted", chosen) if edit == "permute" else None
        if moved is None or moved.empty:
            once = table.get(model, "tvd", edit)
            moved = pd.Series(dtype="float64") if once.empty else once.iloc[:, 0]
        if not moved.empty:
            yield cell("tvd", edit, [(chosen.on_trial, moved)])


def _beside(table: Table, chosen: Settings) -> Mapping[str, float]:
    """What decides nothing: accuracy lost, and what erasing one word from attention does."""
    lost = {
        f"accuracy lost ({edit})": drop
        for edit in EDITS
        if (drop := _accuracy_lost(table, edit)) is not None
    }
    names = {"tvd_top": "heaviest word", "tvd_random": "another word", "tvd_best": "the best word"}
    moved = {
        f"TVD without {words}": float(column.mean())
        for measure, words in names.items()
        if (column := _column(table, table.main, measure, chosen)).notna().any()
    }
    return {**lost, **moved}


def _accuracy_lost(table: Table, edit: str) -> float | None:
    """Averaged over checkpoints; None where there are no labels."""
    drops = []
    for model in table.checkpoints:
        whole, edited = table.get(model, "correct"), table.get(model, "correct", edit)
        if not (whole.empty or edited.empty):
            pair = cell("correct", edit, [("", whole.iloc[:, 0]), (edit, edited.iloc[:, 0])])
            drops += [estimate_of(pair.values, difference)] if pair.examples else []
    return sum(drops) / len(drops) if drops else None


def _with_trained(statement: Statement, table: Table) -> Statement:
    """A model trained with uniform attention is another model: it decides nothing."""
    drop = _accuracy_lost(table, TRAINED)
    if drop is None:
        return statement
    note = f"trained with uniform attention, the accuracy drops by {drop:.3f}."
    warnings = statement.warnings
    if statement.estimate >= statement.threshold and drop < 0.02:
        text = "use: trained without attention the model does about as well."
        warnings = (*warnings, text)
    numbers = {**statement.numbers, TRAINED: drop}
    return replace(statement, notes=(*statement.notes, note), warnings=warnings, numbers=numbers)


def _column(table: Table, model: str, measure: str, chosen: Settings) -> pd.Series:
    wide = table.get(model, measure)
    if chosen.on_trial in wide.columns:
        return wide[chosen.on_trial]
    return pd.Series(dtype="float64")
