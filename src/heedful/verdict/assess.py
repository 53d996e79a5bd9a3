"""The way every decided property goes: health, estimate, bounds, strata, and who fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell
from heedful.verdict.decide import Decision
from heedful.verdict.formulas import position
from heedful.verdict.question import Cells, Question
from heedful.verdict.resample import sample
from heedful.verdict.sequential import level_at
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Part, Statement, not_measured
from heedful.verdict.strata import Strata, strata
from heedful.verdict.table import Table
from heedful.verdict.usable import everywhere, key_of, part_of, value_of
from heedful.verdict.weigh import Weighed, weigh


def assess(
    question: Question, table: Table, cells_of: Callable[[str], Cells], chosen: Settings
) -> Statement:
    """`cells_of` gives the cells of a model by name. Health is judged on the first checkpoint,
    whether floor and ceiling are apart on each of them, since each is divided by its own gap;
    and all checkpoints are put together on the cells that passed."""
    by_model = {name: cells_of(name) for name in (*table.checkpoints, "randomised")}
    random = {key_of(cell): cell for cell in by_model.pop("randomised")}
    measured = [cells for cells in by_model.values() if cells]
    if not measured:
        return not_measured(question.property, question.unit, question.missing)
    cluster_of = table.cluster_of
    parts = tuple(
        part_of(question, cell, random.get(key_of(cell)), cluster_of, chosen)
        for cell in measured[0]
    )
    parts = tuple(everywhere(question, part, measured[1:], cluster_of, chosen) for part in parts)
    usable = [key_of(cell) for cell, part in zip(measured[0], parts, strict=True) if part.usable]
    if not usable:
        return _unusable(question, parts)
    return _statement(question, table, _common(measured, usable), parts, chosen)


def _statement(
    question: Question,
    table: Table,
    cells: Sequence[Cells],
    parts: tuple[Part, ...],
    chosen: Settings,
) -> Statement:
    drawn = sample(cells, table.cluster_of)
    weighed = weigh(
        drawn,
        question.formula,
        question.threshold,
        level_at(chosen.look, chosen.looks, chosen.alpha / question.together),
        chosen.resamples,
        chosen.seed,
    )
    groups = strata(cells, question.formula, table.examples, question.threshold, chosen)
    scored = [part for part in parts if part.usable]
    return replace(
        _numbers(question, weighed),
        floor=_mean([part.floor for part in scored]),
        ceiling=_mean([part.ceiling for part in scored]),
        n=len({name for part in cells for cell in part for name in cell.examples}),
        undefined=sum(part.undefined for part in parts),
        share_failing=_share_failing(cells, question),
        macro=groups.macro,
        blocked=_blocked(question, cells, weighed, chosen),
        parts=parts,
        by_class=groups.by_class,
        by_length=groups.by_length,
        by_confidence=groups.by_confidence,
        notes=_notes(weighed),
        warnings=tuple(_warnings(question, cells, groups)),
        numbers=_sides(question, cells),
    )


def _numbers(question: Question, weighed: Weighed) -> Statement:
    return Statement(
        question.property,
        Decision.INCONCLUSIVE,
        question.unit,
        estimate=weighed.estimate,
        low=weighed.low,
        high=weighed.high,
        threshold=question.threshold,
        p_above=weighed.p_above,
        p_below=weighed.p_below,
        error=weighed.error,
        seed_error=weighed.seed_error,
        clusters=weighed.clusters,
        checkpoints=weighed.checkpoints,
    )


def _unusable(question: Question, parts: tuple[Part, ...]) -> Statement:
    reasons = sorted({part.reason for part in parts})
    return Statement(
        question.property,
        Decision.UNUSABLE,
        question.unit,
        threshold=question.threshold,
        undefined=sum(part.undefined for part in parts),
        blocked=f"unusable here: {'; '.join(reasons)}.",
        parts=parts,
    )


def _blocked(question: Question, cells: Sequence[Cells], weighed: Weighed, chosen: Settings) -> str:
    """Why there is no decision whatever the numbers say."""
    if weighed.clusters < chosen.fewest:
        return f"too few examples: {weighed.clusters}, at least {chosen.fewest} are needed."
    sides = _sides(question, cells)
    if len(sides) < question.least:
        only = ", ".join(sides)
        return f"needs at least {question.least} {question.what}, usable here: {only}."
    return ""


def _warnings(question: Question, cells: Sequence[Cells], groups: Strata) -> Iterator[str]:
    """Averages that hide different answers."""
    sides = _sides(question, cells)
    above = [name for name, value in sides.items() if value >= question.threshold]
    below = [name for name in sides if name not in above]
    if above and below:
        text = f"{', '.join(above)} above the threshold, {', '.join(below)} below."
        yield f"{question.property}: {question.what} disagree: {text}"
    yield from (f"{question.property}: {text}" for text in groups.warnings)


def _sides(question: Question, cells: Sequence[Cells]) -> Mapping[str, float]:
    """The spread: the estimate by operator or measure, averaged over checkpoints."""
    values: dict[str, list[float]] = {}
    for cell in (cell for part in cells for cell in part):
        values.setdefault(question.sides(cell), []).append(value_of(cell, question.formula))
    return {name: _mean(found) for name, found in sorted(values.items())}


def _share_failing(cells: Sequence[Cells], question: Question) -> float:
    """Examples that by themselves fall short of the threshold. A ratio is compared without
    dividing, each cell in units of its mean gap; examples where it could not be told (no gap
    at all) are left out."""
    columns = [
        pd.Series(_margins(cell, question), index=list(cell.examples), dtype="float64")
        for part in cells
        for cell in part
    ]
    margin = pd.concat(columns, axis=1, sort=True).mean(axis=1).dropna()
    return float((margin < 0).mean()) if len(margin) else NAN


def _margins(cell: Cell, question: Question) -> np.ndarray:
    if question.formula is not position:
        return question.formula(cell.values).value - question.threshold
    value, floor, ceiling = cell.values.T
    gap = ceiling - floor
    margin = (value - floor - question.threshold * gap) / (gap.mean() or 1.0)
    return np.where((gap == 0) & (value == floor), np.nan, margin)


def _notes(weighed: Weighed) -> tuple[str, ...]:
    if weighed.checkpoints == 1:
        return ("conditional on this checkpoint: another seed was not tried.",)
    return (f"over {weighed.checkpoints} checkpoints; seeds and examples are crossed.",)


def _common(measured: Sequence[Cells], usable: Sequence[tuple[str, str]]) -> list[Cells]:
    """Each checkpoint's usable cells; one that lacks any of them (or any example) is left out,
    since a mean over other cells is another mean."""
    found = []
    for cells in measured:
        known = {key_of(cell): cell for cell in cells if cell.examples}
        if all(key in known for key in usable):
            found.append(tuple(known[key] for key in usable))
    return found


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else NAN
