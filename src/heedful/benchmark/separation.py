"""How well a number tells two groups apart, and whether it falls with a dose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LOWER = ("sufficiency", "deletion_auc", "flip_share", "infidelity", "max_sensitivity")
IGNORED = ("tie_rate", "special_mass", "flip_censored", "moved_by_shift", "tau_randomised")
"""Numbers of a map that do not say how faithful it is."""


def orientation(measure: str) -> int:
    """+1 where a more faithful map scores higher, −1 where it scores lower, 0 for other numbers."""
    if measure.startswith(LOWER):
        return -1
    return 0 if measure.startswith(IGNORED) else 1


def area_under_curve(high: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """The chance that a number of the first group is above one of the second; ties count half.
    That is the area under the ROC curve. NaN where a group is empty."""
    if not len(high) or not len(low):
        return float("nan")
    ranks = stats.rankdata(np.concatenate([high, low]))
    above = ranks[: len(high)].sum() - len(high) * (len(high) + 1) / 2
    return float(above / (len(high) * len(low)))


def response(dose: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Kendall τ-b of a score with the share of the decision that is shown (1 − dose): 1 where it
    falls with every step of the dose."""
    if len(dose) < 3 or np.ptp(values) == 0:
        return float("nan")
    return float(stats.kendalltau(-dose, values).statistic)
