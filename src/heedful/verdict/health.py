"""Whether a measure can be used on this model at all."""

from __future__ import annotations

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell, cell
from heedful.verdict.formulas import first
from heedful.verdict.resample import Clusters, sample
from heedful.verdict.weigh import closed


def gap_reason(candidate: Cell, cluster_of: Clusters, alpha: float) -> str:
    """Why floor and ceiling cannot be told apart; "" where they can."""
    gap = candidate.sign * (candidate.values[:, 2] - candidate.values[:, 1])
    low = _low(candidate.examples, gap, cluster_of, alpha)
    return "" if low > 0 else "floor and ceiling cannot be told apart"


def drop_reason(
    base: Cell,
    random: Cell | None,
    columns: tuple[int, int],
    cluster_of: Clusters,
    alpha: float,
) -> str:
    """Why the measure is blind to what the model learned; "" where it is not.

    What is compared, example by example, is how far one column stands above another (the
    ceiling or the explanation above the floor) in the model and after its weights were
    randomised. Without a randomised model nothing is said.
    """
    if random is None:
        return ""
    spreads = [_above(each, columns) for each in (base, random)]
    both = cell("", "", [("base", spreads[0]), ("randomised", spreads[1])])
    if not both.examples:
        return ""
    drop = both.values[:, 0] - both.values[:, 1]
    low = _low(both.examples, drop, cluster_of, alpha)
    return "" if low > 0 else "does not drop when the model's weights are randomised"


def _above(each: Cell, columns: tuple[int, int]) -> pd.Series:
    upper, lower = columns
    spread = each.sign * (each.values[:, upper] - each.values[:, lower])
    return pd.Series(spread, index=list(each.examples), dtype="float64")


def _low(
    examples: tuple[str, ...], values: np.ndarray, cluster_of: Clusters, alpha: float
) -> float:
    """The lower bound of a mean over examples; it has none from a single cluster."""
    only = Cell("", "", ("",), examples, values[:, None], 0)
    _, low, _ = closed(sample([[only]], cluster_of), first, alpha)
    return low
