"""Whether a measure can be used on this model at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import first
from heedful.verdict.resample import Clusters, estimate, sample
from heedful.verdict.weigh import Weighed, closed, closed_form


def gap_reason(candidate: Cell, least: float, cluster_of: Clusters, alpha: float) -> str:
    """Why floor and ceiling cannot be told apart; "" where they clearly are by `least`.

    A ceiling that is the best of many orders, the floors among them, is above the floor
    whatever the model does: there only a gap of some size says that the order of words
    matters at all."""
    gap = candidate.sign * (candidate.values[:, 2] - candidate.values[:, 1])
    if _low(candidate.examples, gap, cluster_of, alpha) > least:
        return ""
    by = f" by more than {least:g}" if least else ""
    return f"floor and ceiling cannot be told apart{by}"


def contrast(
    checkpoints: Sequence[Sequence[Cell]],
    weights: Sequence[float],
    cluster_of: Clusters,
    alpha: float,
) -> Weighed:
    """A weighted sum of the columns, averaged over cells: its estimate and one-sided bounds over
    clusters, and over checkpoints where there are several."""
    sums = [
        [Cell("", "", ("",), e.examples, (e.sign * e.values @ weights)[:, None], 0) for e in cells]
        for cells in checkpoints
    ]
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


def _above(each: Cell, columns: tuple[int, int]) -> Cell:
    upper, lower = columns
    spread = each.sign * (each.values[:, upper] - each.values[:, lower])
    return Cell("", "", ("",), each.examples, spread[:, None], 0)


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


def _low(
    examples: tuple[str, ...], values: np.ndarray, cluster_of: Clusters, alpha: float
) -> float:
    """The lower bound of a mean over examples; it has none from a single cluster."""
    only = Cell("", "", ("",), examples, values[:, None], 0)
    _, low, _ = closed(sample([[only]], cluster_of), first, alpha)
    return low
