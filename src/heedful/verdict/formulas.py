"""What is estimated, as functions of column means, each with its gradient.

The gradient gives every resample a standard error of its own (the delta method), which is what
a studentised bootstrap needs. `means` has a row per resample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Value(NamedTuple):
    value: Float[np.ndarray, " r"]
    gradient: Float[np.ndarray, "r c"]


Formula = Callable[[Float[np.ndarray, "r c"]], Value]


def first(means: Float[np.ndarray, "r c"]) -> Value:
    """The mean itself."""
    gradient = np.zeros_like(means)
    gradient[:, 0] = 1.0
    return Value(means[:, 0], gradient)


def difference(means: Float[np.ndarray, "r c"]) -> Value:
    """Value − floor."""
    gradient = np.zeros_like(means)
    gradient[:, 0], gradient[:, 1] = 1.0, -1.0
    return Value(means[:, 0] - means[:, 1], gradient)


def position(means: Float[np.ndarray, "r c"]) -> Value:
    """(value − floor)/(ceiling − floor): 0 at the floor, 1 at the ceiling, whichever way the
    measure points. Undefined where floor and ceiling meet."""
    value, floor, ceiling = means[:, 0], means[:, 1], means[:, 2]
    gap = np.where(ceiling == floor, np.nan, ceiling - floor)
    ratio = (value - floor) / gap
    return Value(ratio, np.stack([1 / gap, (ratio - 1) / gap, -ratio / gap], axis=1))
