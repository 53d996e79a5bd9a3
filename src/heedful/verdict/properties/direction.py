"""Direction: which words speak for the predicted class? By erasing words in order.

Only an explanation with signs can answer. One that ranks words by size alone, as attention does,
would be asked to know what it does not say: it is judged on importance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, cell
from heedful.verdict.flips import compare, horizon_times, never_flipped
from heedful.verdict.formulas import position
from heedful.verdict.question import Question
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement, not_answered
from heedful.verdict.table import Table

UNIT = "of the way from a random order to the best order found, for the predicted class"
BETTER = {
    "comprehensiveness": 1,
    "sufficiency": -1,
    "deletion_auc": -1,
    "insertion_auc": 1,
    "flip_share": -1,
}
"""Which way each metric points."""


def direction(table: Table, chosen: Settings) -> Statement:
    """At least two removal operators; the spread between them is shown."""
    if chosen.on_trial not in chosen.signed:
        name = chosen.on_trial.replace("_", " ")
        return not_answered("direction", UNIT, f"{name} has no sign: judge it on importance.")
    question = Question(
        property="direction",
        unit=UNIT,
        formula=position,
        threshold=chosen.effect("direction"),
        sides=lambda cell: cell.operator,
        what="removal operators",
        least=2,
        drops=(2, 1),
        gap=chosen.smallest_gap,
    )

    def cells_of(model: str) -> tuple[Cell, ...]:
        return tuple(direction_cells(table, model, chosen.on_trial, chosen))

    return _with_flips(_with_metrics(assess(question, table, cells_of, chosen)), table, chosen)


def direction_cells(table: Table, model: str, explanation: str, chosen: Settings) -> Iterator[Cell]:
    """Every metric under every operator, except those that made the explanation."""
    for measure in chosen.metrics:
        for operator in chosen.operators or table.operators(measure):
            wide = _wide(table, model, measure, operator)
            names = (explanation, "random", chosen.ceiling)
            unfair = operator in chosen.made_with(explanation)
            if unfair or any(name not in wide.columns for name in names):
                continue
            yield cell(measure, operator, [(n, wide[n]) for n in names], BETTER[measure])


def _wide(table: Table, model: str, measure: str, operator: str) -> pd.DataFrame:
    wide = table.get(model, measure, operator)
    if measure != "flip_share" or wide.empty:
        return wide
    return horizon_times(wide, table.get(model, "flip_censored", operator))


def _with_metrics(statement: Statement) -> Statement:
    """The spread between metrics; where they point to different sides, a warning."""
    by_metric: dict[str, list[float]] = {}
    for part in statement.parts:
        if part.usable:
            by_metric.setdefault(part.measure, []).append(part.estimate)
    means = {name: sum(values) / len(values) for name, values in by_metric.items()}
    above = [name for name, value in means.items() if value >= statement.threshold]
    below = [name for name in means if name not in above]
    warnings = statement.warnings
    if above and below:
        text = f"{', '.join(above)} above the threshold, {', '.join(below)} below."
        warnings = (*warnings, f"direction: metrics disagree: {text}")
    return replace(statement, numbers={**statement.numbers, **means}, warnings=warnings)


def _with_flips(statement: Statement, table: Table, chosen: Settings) -> Statement:
    """How many decisions no order flips, said first; then the order on trial against a random
    one on the rest."""
    numbers, notes = dict(statement.numbers), list(statement.notes)
    for operator in chosen.operators or table.operators("flip_share"):
        times = table.get(table.main, "flip_share", operator)
        censored = table.get(table.main, "flip_censored", operator)
        if times.empty or censored.empty:
            continue
        never = never_flipped(censored)
        numbers[f"never flipped ({operator})"] = never
        notes.append(f"{operator}: {never:.0%} of the decisions are flipped by no order.")
        if {chosen.on_trial, "random"} <= set(times.columns):
            found = compare(times, censored, chosen.on_trial, "random")
            numbers[f"words until the flip ({operator})"] = found.mean
            numbers[f"words until the flip, random order ({operator})"] = found.other_mean
            numbers[f"sign test against a random order ({operator})"] = found.p_value
    return replace(statement, numbers=numbers, notes=tuple(notes))
