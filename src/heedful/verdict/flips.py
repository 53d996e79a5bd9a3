"""Words removed until the decision flips, where some decisions never do.

What never flips is censored, not dropped: first the share that no order flips, then survival
on the rest. The step that removes everything is no flip and is not in the times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from heedful.metrics import restricted_mean, sign_test


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
