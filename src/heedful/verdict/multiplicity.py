"""Testing more than once without being wrong more often: Holm's procedure and alpha spending.

Of a one-sided alpha, α·ln(1 + (e − 1)·t) may be spent by the time a share t of the planned
evidence is in (Lan & DeMets 1983, the Pocock-like choice). Each look's own level follows by
carrying the density of the running score forward over the looks that did not stop (Armitage,
McPherson & Rowe 1969). Looks are equally spaced; fewer looks than planned stay safe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from heedful.errors import HeedfulError


@lru_cache(maxsize=256)
def level_at(look: int, looks: int, alpha: float) -> float:
    """The one-sided level at which this look may decide."""
    if not 1 <= look <= looks:
        raise HeedfulError(f"look {look} of {looks}: count looks from 1.")
    return alpha if looks == 1 else float(stats.norm.sf(_boundaries(look, looks, alpha)[-1]))


def spent(share: float, alpha: float) -> float:
    """How much of alpha may be gone when this share of the evidence is in."""
    return alpha * math.log(1 + (math.e - 1) * share)


def rejected(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Holm's step-down (1979): which hypotheses fall."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    fallen = [False] * len(p_values)
    for rank, i in enumerate(order):
        if not p_values[i] <= alpha / (len(p_values) - rank):
            break
        fallen[i] = True
    return fallen


_STEPS = 801
_LOWEST = -10.0


def _boundaries(look: int, looks: int, alpha: float) -> list[float]:
    """Upper boundaries of the standardised score up to this look."""
    found = [float(stats.norm.isf(spent(1 / looks, alpha)))]
    grid = np.linspace(_LOWEST, found[0], _STEPS)
    density = stats.norm.pdf(grid)
    for number in range(2, look + 1):
        goal = spent(number / looks, alpha) - spent((number - 1) / looks, alpha)
        # The score's sum has unit steps: S_k = S_{k−1} + N(0, 1), and the boundary is b·√k.
        edge = _edge(grid, density, goal)
        found.append(edge / math.sqrt(number))
        following = np.linspace(_LOWEST * math.sqrt(number), edge, _STEPS)
        steps = stats.norm.pdf(following[:, None] - grid[None, :])
        density = np.trapezoid(steps * density, grid, axis=1)
        grid = following
    return found


def _edge(grid: Float[np.ndarray, " s"], density: Float[np.ndarray, " s"], goal: float) -> float:
    """Where the next look must stop to spend exactly `goal`."""

    def excess(edge: float) -> float:
        return float(np.trapezoid(stats.norm.sf(edge - grid) * density, grid)) - goal

    return float(optimize.brentq(excess, -20.0, 60.0))
