"""Which cells a question may be answered by: health, and a gap between floor and ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import Formula
from heedful.verdict.health import drop_reason, gap_reason
from heedful.verdict.question import Cells, Question
from heedful.verdict.resample import Clusters
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Part
from heedful.verdict.weigh import estimate_of


def part_of(
    question: Question,
    cell: Cell,
    random: Cell | None,
    cluster_of: Clusters,
    chosen: Settings,
) -> Part:
    value = value_of(cell, question.formula)
    reason = _reason(question, cell, random, cluster_of, chosen)
    means = [float(mean) for mean in cell.values.mean(0)] if cell.examples else []
    value_mean, floor, ceiling = (*means, NAN, NAN, NAN)[:3]
    floor_name = cell.names[1] if len(cell.names) > 1 else ""
    return Part(
        cell.measure,
        cell.operator,
        value,
        value_mean,
        floor,
        ceiling,
        floor_name,
        len(cell.examples),
        cell.undefined,
        not reason,
        reason,
    )


def everywhere(
    question: Question,
    part: Part,
    others: Sequence[Cells],
    cluster_of: Clusters,
    chosen: Settings,
) -> Part:
    """A ratio is usable only where the gap it divides by is there at every checkpoint."""
    if not part.usable or question.gap is None:
        return part
    same = [
        cell
        for cells in others
        for cell in cells
        if key_of(cell) == (part.measure, part.operator)
        and len({cluster_of[name] for name in cell.examples}) >= chosen.fewest
    ]
    for cell in same:
        if close := gap_reason(cell, question.gap, cluster_of, chosen.alpha):
            return replace(part, usable=False, reason=f"{close} at every checkpoint")
    return part


def _reason(
    question: Question,
    cell: Cell,
    random: Cell | None,
    cluster_of: Clusters,
    chosen: Settings,
) -> str:
    """Why a cell is unusable. From a handful of examples nothing can be told, nor is it held
    against the measure: the statement will be inconclusive for that."""
    if not cell.examples:
        return "no example has it defined"
    if len({cluster_of[name] for name in cell.examples}) < chosen.fewest:
        return ""
    alpha = chosen.alpha
    if question.gap is not None and (close := gap_reason(cell, question.gap, cluster_of, alpha)):
        return close
    if question.drops is None:
        return ""
    return drop_reason(cell, random, question.drops, cluster_of, alpha)


def value_of(cell: Cell, formula: Formula) -> float:
    return estimate_of(cell.values, formula)


def key_of(cell: Cell) -> tuple[str, str]:
    return cell.measure, cell.operator
