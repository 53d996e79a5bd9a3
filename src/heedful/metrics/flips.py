"""How much must go until the decision flips, when some decisions never do.

Texts that never flip are censored at 1: nothing short of the whole text is enough. To drop
them would compare explanations on different texts (serrano2019's released plots do). Without
torch: the report reads this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import bdtr

from heedful.entries import Entries, Metric, share

ENTRIES = Entries(Metric)


class Survival(NamedTuple):
    """Kaplan and Meier's curve: `alive[i]` is the share not yet flipped just after `times[i]`."""

    times: Float[np.ndarray, " m"]
    alive: Float[np.ndarray, " m"]
    at_risk: Int[np.ndarray, " m"]
    flips: Int[np.ndarray, " m"]

    def quantile(self, share: float) -> float:
        """The first time by which that share has flipped; NaN where fewer ever do."""
        reached = self.times[self.alive <= 1 - share + 1e-12]
        return float(reached[0]) if len(reached) else np.nan


class RestrictedMean(NamedTuple):
    """`error` is Greenwood's standard error."""

    mean: float
    error: float
    n: int
    censored: int


class SignTest(NamedTuple):
    """`first` and `second` count the examples on which that explanation flips sooner."""

    first: int
    second: int
    ties: int
    p_value: float


@ENTRIES.entry(
    share("restricted mean share of words removed until the decision flips (Kaplan-Meier)", False),
    name="flips",
    paper="serrano2019",
    measures={
        "mean": share("area under the Kaplan-Meier curve up to 1", False),
        "error": share("its standard error (Greenwood)"),
    },
    formula=(
        "∫₀¹ S(u) du with S(u) = Π_{u_i ≤ u} (1 − d_i / n_i): at the share u_i, d_i of the n_i "
        "texts that are left flip"
    ),
    higher=(
        "more words must go before the decision flips, so the order found the decisive words later"
    ),
    cost="sorting the examples",
    limits=(
        "It is about when decisions flip, under one way of taking words away; what is left of a "
        "text then is no longer language."
    ),
)
def restricted_mean(
    shares: Float[np.ndarray, " n"], censored: Bool[np.ndarray, " n"], horizon: float = 1.0
) -> RestrictedMean:
    """The area under the survival curve up to `horizon`: the mean share of words removed until
    the decision flips, never-flipping texts counted at the horizon at least.

    A censored share that is NaN is censored at the horizon; an example that is NaN and not
    censored is undefined and left out.
    """
    times = np.where(censored & np.isnan(shares), horizon, shares)
    known = ~np.isnan(times)
    shares, censored = times[known], censored[known]
    if not len(shares):
        return RestrictedMean(np.nan, np.nan, 0, 0)
    curve = survival(shares, censored)
    before = curve.times < horizon
    edges = np.concatenate([[0.0], curve.times[before], [horizon]])
    areas = np.concatenate([[1.0], curve.alive[before]]) * np.diff(edges)
    left = areas[::-1].cumsum()[::-1][1:]  # what lies beyond each flip
    risk, flips = curve.at_risk[before], curve.flips[before]
    room = risk * (risk - flips)
    spread = np.divide(left**2 * flips, room, out=np.zeros_like(left), where=room > 0)
    return RestrictedMean(
        float(areas.sum()), float(np.sqrt(spread.sum())), len(shares), int(censored.sum())
    )


def survival(shares: Float[np.ndarray, " n"], censored: Bool[np.ndarray, " n"]) -> Survival:
    """Π (1 − flips / at risk) over the times at which something flips (Kaplan & Meier 1958).
    Who is censored at the time of a flip was still at risk then."""
    times, flips = np.unique(shares[~censored], return_counts=True)
    at_risk = (shares[:, None] >= times).sum(0)
    return Survival(times, np.cumprod(1 - flips / at_risk), at_risk, flips)


def sign_test(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    first_censored: Bool[np.ndarray, " n"],
    second_censored: Bool[np.ndarray, " n"],
) -> SignTest:
    """Which of two explanations flips the same examples sooner; two-sided, exact.

    A flip is sooner than none; two that never flip tie, and ties take no part. An example
    without a number on either side is left out.
    """
    a, b = (np.where(c, np.inf, s) for s, c in ((first, first_censored), (second, second_censored)))
    sooner, later, known = int((a < b).sum()), int((a > b).sum()), ~(np.isnan(a) | np.isnan(b))
    n = sooner + later
    p = min(1.0, 2 * float(bdtr(min(sooner, later), n, 0.5))) if n else np.nan
    return SignTest(sooner, later, int(known.sum()) - n, p)
