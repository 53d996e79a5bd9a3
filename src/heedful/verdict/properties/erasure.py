"""What happens to the prediction when words are erased in the order of their weights: importance,
baseline and direction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from heedful.metrics import restricted_mean, sign_test
from heedful.verdict.evaluation import Property, apart, evaluate_property
from heedful.verdict.inference import difference, position
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Decision, Statement
from heedful.verdict.table import Cell, Table, best_floor, cell

MEASURE = "importance_captured"
RANDOM = 0.0
"""What a random order captures on average, exactly: it need not be drawn."""


def importance(table: Table, chosen: Settings) -> Statement:
    """Measured under at least two perturbations, none of which made the explanation."""
    return evaluate_property(IMPORTANCE, importance_cells, table, chosen)


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
    for operator, wide in _scored(table, model, explanation, chosen):
        if chosen.ceiling in wide.columns:
            random = pd.Series(RANDOM, index=wide.index)
            columns = [(explanation, wide[explanation]), ("random", random)]
            yield cell(MEASURE, operator, [*columns, (chosen.ceiling, wide[chosen.ceiling])])


def _scored(
    table: Table, model: str, explanation: str, chosen: Settings
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The operators that may score an explanation, each with examples × explanations."""
    if model == "randomised":
        return
    for operator in chosen.operators or table.operators(MEASURE):
        wide = table.get(model, MEASURE, operator)
        if operator not in chosen.made_with(explanation) and explanation in wide.columns:
            yield operator, wide


def baseline(table: Table, chosen: Settings) -> Statement:
    """Paired differences to the better of word frequency and position, which know nothing of the
    model."""
    found = evaluate_property(BASELINE, _leads, table, chosen)
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


def _leads(table: Table, model: str, explanation: str, chosen: Settings) -> Iterator[Cell]:
    """The same baseline under all operators: the one that is harder to beat on average."""
    known = list(_scored(table, model, explanation, chosen))
    if not known:
        return
    floor = best_floor(pd.concat([wide for _, wide in known]), chosen.model_free)
    for operator, wide in known:
        if floor in wide.columns:
            columns = [(explanation, wide[explanation]), (floor, wide[floor])]
            yield cell(MEASURE, operator, columns)


BETTER = {
    "comprehensiveness": 1,
    "sufficiency": -1,
    "deletion_auc": -1,
    "insertion_auc": 1,
    "flip_share": -1,
}
"""Which way each metric points."""


def direction(table: Table, chosen: Settings) -> Statement:
    """Only an explanation with signs can answer. One that ranks words by size alone, as attention
    does, is judged on importance. Measured under at least two perturbations; the spread between
    them is shown."""
    if chosen.on_trial not in chosen.signed:
        reason = f"{chosen.on_trial.replace('_', ' ')} has no sign: judge it on importance."
        return DIRECTION.without_number(Decision.NOT_ANSWERED, reason)
    found = evaluate_property(DIRECTION, direction_cells, table, chosen)
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
            wide = table.get(model, measure, operator)
            if measure == "flip_share" and not wide.empty:
                wide = horizon_times(wide, table.get(model, "flip_censored", operator))
            names = (explanation, "random", chosen.ceiling)
            unfair = operator in chosen.made_with(explanation)
            if not unfair and set(names) <= set(wide.columns):
                yield cell(measure, operator, [(n, wide[n]) for n in names], BETTER[measure])


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
            flips = compare(times, censored, chosen.on_trial, "random")
            numbers[f"words until the flip ({operator})"] = flips.mean
            numbers[f"words until the flip, random order ({operator})"] = flips.other_mean
            numbers[f"sign test against a random order ({operator})"] = flips.p_value
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
