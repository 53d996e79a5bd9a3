"""Agreement: do the weights rank words as independent measures of importance do?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from heedful.verdict.assess import assess
from heedful.verdict.cell import Cell, cell
from heedful.verdict.decide import Decision, examples_needed
from heedful.verdict.formulas import position
from heedful.verdict.health import contrast
from heedful.verdict.question import Question
from heedful.verdict.sequential import level_at
from heedful.verdict.settings import REQUIRED, Settings
from heedful.verdict.statement import Statement, not_measured
from heedful.verdict.table import Table

UNIT = "tau-b of the way from chance to the agreement between importance measures"
SILENT = "the importance measures do not agree with each other here, so nothing can agree with them"
UNCLEAR = "it is not clear yet whether the importance measures agree with each other"
EITHER_WAY = (
    "attention agrees with the importance measures, even if they hardly agree with each other"
)


def agreement(table: Table, chosen: Settings) -> Statement:
    """The ceiling of tau with a measure is how well the other importance measures agree with
    it: attention is not asked to do better than they do among themselves. Where they clearly do
    not agree by more than `smallest_tau`, the question cannot be asked. Where that is open, so is
    the answer, unless attention is near enough to them for any agreement within the bounds."""
    question = Question(
        property="agreement",
        unit=UNIT,
        formula=position,
        threshold=chosen.effect("agreement"),
        sides=lambda cell: cell.measure,
        what="importance measures",
        least=2,
        together=len(REQUIRED),
    )

    def cells_of(model: str) -> tuple[Cell, ...]:
        return () if model == "randomised" else tuple(_cells(table, model, chosen))

    found = assess(question, table, cells_of, chosen)
    if not found.parts and any(table.measures("tau:")):
        return not_measured("agreement", UNIT, "needs tau with at least two importance measures.")
    if found.decision is Decision.UNUSABLE:  # tau is undefined: that is not the measures' silence
        return replace(found, decision=Decision.NOT_MEASURED)
    if found.decision is not Decision.INCONCLUSIVE or found.blocked:
        return found
    level = level_at(chosen.look, chosen.looks, chosen.alpha / len(REQUIRED))
    cells = [part for model in table.checkpoints if (part := cells_of(model))]
    among = contrast(cells, (0.0, -1.0, 1.0), table.cluster_of, level)
    least, asked = chosen.smallest_tau, question.threshold
    if among.high < least:
        return replace(found, decision=Decision.UNUSABLE, blocked=f"{SILENT} (by {least:g} tau).")
    if among.low > least:
        return found
    if contrast(cells, (1.0, asked - 1.0, -asked), table.cluster_of, level).low > 0:
        note = f"{EITHER_WAY} (by {least:g} tau)."
        return replace(found, decision=Decision.SUPPORTED, notes=(*found.notes, note))
    count = examples_needed(among, least, level, found.n)
    return replace(found, blocked=f"{UNCLEAR} (by {least:g} tau).", needed=count)


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
    """Chance has a tau-b of 0 on average: it need not be drawn."""
    columns = [
        (chosen.on_trial, wide[chosen.on_trial]),
        ("random", pd.Series(0.0, index=wide.index)),
        ("other importance measures", wide[list(others)].mean(axis=1)),
    ]
    return cell(measure, operator, columns)
