"""Whether a measure can be used on this model: its floor and ceiling are clearly apart, and it sees
what the model learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from heedful.verdict.inference import (
    Clusters,
    Comparison,
    Formula,
    closed,
    closed_form,
    estimate,
    estimate_of,
    first,
    sample,
)
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Part
from heedful.verdict.table import Cell

Columns = tuple[int, int] | None
Needs = tuple[float | None, Columns]
"""How far apart floor and ceiling must clearly be, and the two columns whose distance must shrink
when weights are randomised; None leaves either check out."""


def parts_of(
    measured: Sequence[Sequence[Cell]],
    random: Sequence[Cell],
    formula: Formula,
    needs: Needs,
    cluster_of: Clusters,
    chosen: Settings,
) -> tuple[Part, ...]:
    """What the first checkpoint's cells say and whether each can be used. A ratio can be used only
    where the gap it divides by is there at every checkpoint."""
    first_model, *others = measured
    randomised = {key_of(cell): cell for cell in random}
    parts = []
    for cell in first_model:
        key = key_of(cell)
        reason = _reason(cell, randomised.get(key), needs, cluster_of, chosen)
        if not reason and needs[0] is not None:
            same = (other for cells in others for other in cells if key_of(other) == key)
            reason = _gap_elsewhere(same, needs[0], cluster_of, chosen)
        parts.append(_part(cell, formula, reason))
    return tuple(parts)


def key_of(cell: Cell) -> tuple[str, str]:
    return cell.measure, cell.operator


def gap_reason(candidate: Cell, least: float, cluster_of: Clusters, alpha: float) -> str:
    """Why floor and ceiling cannot be told apart; "" where they clearly are by `least`.

    A ceiling that is the best of many orders, the floors among them, is above the floor
    whatever the model does: there only a gap of some size says that the order of words
    matters at all."""
    gap = _above(candidate, (2, 1))
    if closed(sample([[gap]], cluster_of), first, alpha)[1] > least:
        return ""
    by = f" by more than {least:g}" if least else ""
    return f"floor and ceiling cannot be told apart{by}"


def contrast(
    checkpoints: Sequence[Sequence[Cell]],
    weights: Sequence[float],
    cluster_of: Clusters,
    alpha: float,
) -> Comparison:
    """A weighted sum of the columns, averaged over cells: its estimate and one-sided bounds over
    clusters, and over checkpoints where there are several."""
    sums = [[_one_column(e, e.sign * e.values @ weights) for e in cells] for cells in checkpoints]
    return closed_form(sample(sums, cluster_of), first, alpha)


def drop_reason(
    base: Cell,
    random: Cell | None,
    columns: tuple[int, int],
    cluster_of: Clusters,
    alpha: float,
) -> str:
    """Why the measure is blind to what the model learned; "" where it is not.

    What is compared is how far one column stands above another (the ceiling or the
    explanation above the floor) in the model and after its weights were randomised. Without a
    randomised model nothing is said.
    """
    if random is None or not random.examples:
        return ""
    low = _low_drop(_above(base, columns), _above(random, columns), cluster_of, alpha)
    return "" if low > 0 else "does not drop when the model's weights are randomised"


def _part(cell: Cell, formula: Formula, reason: str) -> Part:
    means = [float(mean) for mean in cell.values.mean(0)] if cell.examples else []
    value, floor, ceiling = (*means, NAN, NAN, NAN)[:3]
    return Part(
        cell.measure,
        cell.operator,
        estimate_of(cell.values, formula),
        value,
        floor,
        ceiling,
        cell.names[1] if len(cell.names) > 1 else "",
        len(cell.examples),
        cell.undefined,
        not reason,
        reason,
    )


def _reason(
    cell: Cell, random: Cell | None, needs: Needs, cluster_of: Clusters, chosen: Settings
) -> str:
    """Why a cell is unusable. From a handful of examples nothing can be told, nor is it held
    against the measure: the statement will be inconclusive for that."""
    gap, drops = needs
    if not cell.examples:
        return "no example has it defined"
    if not _enough(cell, cluster_of, chosen):
        return ""
    if gap is not None and (close := gap_reason(cell, gap, cluster_of, chosen.alpha)):
        return close
    return "" if drops is None else drop_reason(cell, random, drops, cluster_of, chosen.alpha)


def _gap_elsewhere(
    cells: Iterable[Cell], least: float, cluster_of: Clusters, chosen: Settings
) -> str:
    for cell in cells:
        enough = _enough(cell, cluster_of, chosen)
        if enough and (close := gap_reason(cell, least, cluster_of, chosen.alpha)):
            return f"{close} at every checkpoint"
    return ""


def _enough(cell: Cell, cluster_of: Clusters, chosen: Settings) -> bool:
    return len({cluster_of[name] for name in cell.examples}) >= chosen.fewest


def _above(cell: Cell, columns: tuple[int, int]) -> Cell:
    upper, lower = columns
    return _one_column(cell, cell.sign * (cell.values[:, upper] - cell.values[:, lower]))


def _one_column(cell: Cell, values: np.ndarray) -> Cell:
    return Cell("", "", ("",), cell.examples, values[:, None], 0)


def _low_drop(base: Cell, random: Cell, cluster_of: Clusters, alpha: float) -> float:
    """The lower bound of the difference of two means, the second over some of the examples:
    a random choice of them, so the first need not do without the others. Clusters in both
    count as such, and the freedom is that of the fewer."""
    few = sample([[random]], cluster_of).clusters
    if few < 2:
        return math.nan
    minus = replace(random, values=-random.values)
    half = estimate(sample([[base, minus]], cluster_of), first)  # a mean over two cells
    error = 2 * float(half.error[0]) * math.sqrt(few / (few - 1))
    return 2 * float(half.value[0]) - float(stats.t.ppf(1 - alpha, few - 1)) * error
