"""Direction: which words speak for the predicted class? By erasing words in order.

Only an explanation with signs can answer. One that ranks words by size alone, as attention does,
would be asked to know what it does not say: it is judged on importance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from heedful.metrics import restricted_mean, sign_test
from heedful.verdict.evaluation import Property, apart, evaluate_property
from heedful.verdict.inference import position
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement, not_answered
from heedful.verdict.table import Cell, Table, cell

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
        reason = f"{chosen.on_trial.replace('_', ' ')} has no sign: judge it on importance."
        return not_answered(DIRECTION.name, DIRECTION.unit, reason)
    found = evaluate_property(
        DIRECTION,
        lambda model: direction_cells(table, model, chosen.on_trial, chosen),
        table,
        chosen,
    )
    return _with_flips(_with_metrics(found), table, chosen)


DIRECTION = Property(
    name="direction",
    order=5,
    question="Do they say which words speak for the prediction?",
    unit="of the way from a random order to the best order found, for the predicted class",
    evaluate=direction,
    # half of the way, for explanations that say which class a word speaks for
    smallest_effect=0.5,
    formula=position,
    sides="removal operators",
    least=2,
    gap=True,
    drops=(2, 1),
)


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
    warnings = statement.warnings
    if text := apart(means, statement.threshold):
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


@dataclass(frozen=True)
class Flips:
    """Restricted mean shares of words until the flip of two orders, on the examples that at
    least one order flips, and an exact paired sign test of which is earlier."""

    mean: float
    other_mean: float
    earlier: int
    later: int
    p_value: float
    n: int


def never_flipped(censored: pd.DataFrame) -> float:
    """The share of examples whose decision no measured order flips."""
    known = censored.dropna(how="all")
    return float((~_flippable(known)).mean()) if len(known) else math.nan


def horizon_times(times: pd.DataFrame, censored: pd.DataFrame) -> pd.DataFrame:
    """Times with the censored ones at the horizon (all words: 1), so that means are restricted
    means, on the examples that some order flips. Without a word on censoring: as they are."""
    if censored.empty:
        return times
    flags = censored.reindex(index=times.index, columns=times.columns)
    return times.where(~(flags > 0), 1.0)[_flippable(flags)]


def compare(times: pd.DataFrame, censored: pd.DataFrame, one: str, other: str) -> Flips:
    """Two orders on the same examples."""
    flags = censored.reindex(index=times.index, columns=times.columns)
    kept = horizon_times(times, flags)[[one, other]].dropna()
    first, second = kept.to_numpy(dtype=np.float64).T
    cut, other_cut = (flags.loc[kept.index, [one, other]] > 0).to_numpy().T
    signs = sign_test(first, second, cut, other_cut)
    return Flips(
        restricted_mean(first, cut).mean,
        restricted_mean(second, other_cut).mean,
        signs.first,
        signs.second,
        1.0 if math.isnan(signs.p_value) else signs.p_value,
        len(kept),
    )


def _flippable(flags: pd.DataFrame) -> pd.Series:
    return (flags == 0).any(axis=1)
