"""What changing the weights does to the output: use and uniqueness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from heedful.verdict.evaluation import Property, evaluate_property, means_of, report_means
from heedful.verdict.inference import difference, estimate_of
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Decision, Statement
from heedful.verdict.table import Cell, Table, cell

EDITS = ("uniform", "permute")
TRAINED = "uniform_trained"


def use(table: Table, chosen: Settings) -> Statement:
    """Attention that nothing reads explains nothing. Measured on the scale of probabilities, so it
    needs no labels. The accuracy lost is shown beside it: a model can use its attention on every
    text and answer as well without."""

    found = evaluate_property(USE, _moved, table, chosen)
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


def _moved(table: Table, model: str, explanation: str, chosen: Settings) -> Iterator[Cell]:
    """None for a randomised model, which may use its attention as well: there is nothing to
    check."""
    for edit in () if model == "randomised" else EDITS:
        moved = _column(table, model, "tvd_permuted", chosen) if edit == "permute" else NOTHING
        if moved.empty:
            once = table.get(model, "tvd", edit)
            moved = NOTHING if once.empty else once.iloc[:, 0]
        if not moved.empty:
            yield cell("tvd", edit, [(explanation, moved)])


def _beside(table: Table, chosen: Settings) -> Mapping[str, float]:
    """Numbers that decide nothing: accuracy lost, and the effect of erasing one word's weight."""
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


NOTHING = pd.Series(dtype="float64")


def _column(table: Table, model: str, measure: str, chosen: Settings) -> pd.Series:
    wide = table.get(model, measure)
    return wide[chosen.on_trial] if chosen.on_trial in wide.columns else NOTHING


RATIO = "jsd_same_output_ratio"
MEASURES = (RATIO, "jsd_entropy_matched", "jsd_same_output", "reachable")
SEEDS, SEEDS_RATIO = "jsd_seeds", "jsd_seeds_ratio"
FAR = 0.5
OF_WORDS = (
    "the floor is the distance between seeds over words, as a share of the furthest that any "
    "attention to the same words is."
)
NO_FLOOR = "the distance between seeds was not measured, so there is no floor."
OTHER_UNIT = "the distance between seeds is in another unit than the estimate: it is no floor."


def uniqueness(table: Table, chosen: Settings) -> Statement:
    """Reported, never required: that another explanation exists does not refute this one. The
    distance between seeds is the floor it is read against, where it is in the same unit: a share
    of the furthest."""
    found = report_means(UNIQUENESS, MEASURES, table, chosen)
    if found.decision is Decision.NOT_MEASURED:
        return found
    own = next(each for each in means_of(MEASURES, table, chosen)[0] if each.examples)
    seeds = _seeds(table, chosen)
    floor = seeds.get(SEEDS_RATIO, NAN) if own.measure == RATIO else NAN
    far = {f"share above {FAR} ({own.measure})": float((own.values > FAR).mean())}
    about = OF_WORDS if not math.isnan(floor) else OTHER_UNIT if seeds else NO_FLOOR
    notes = ("values found by a search are lower bounds.", about)
    return replace(found, floor=floor, numbers={**found.numbers, **far, **seeds}, notes=notes)


UNIQUENESS = Property(
    name="uniqueness",
    order=6,
    question="Is there another attention with the same output?",
    unit="distance of another attention with the same output (1: as far as any attention is)",
    evaluate=uniqueness,
    missing="not asked for.",
)


def _seeds(table: Table, chosen: Settings) -> dict[str, float]:
    """The first checkpoint's distances to the others."""
    distances: dict[str, float] = {}
    for cells in means_of((SEEDS, SEEDS_RATIO), table, chosen):
        for each in cells:
            if each.examples:
                distances.setdefault(each.measure, float(each.values.mean()))
    return distances
