"""What the rows of the probe `importance_sets` say, ranking by ranking, with no row dropped.

A row that no subset flips has no share of items at a flip; it is censored at the share up to
which steps were tried, so every ranking speaks about the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from heedful.metrics import SignTest, sign_test
from heedful.report.evidence import KEYS, Evidence

RANKINGS = {
    "attention": "attention",
    "gradient": "gradient",
    "gradient_attention": "gradient × attention",
    "centred": "centred gradient × attention",
    "random": "random order",
    "ascending": "attention, lightest first",
}
"""The orders of removal, as a report names them."""

_PLACE = ["example", "site", "seed"]


@dataclass(frozen=True)
class Removed:
    """One ranking's removals on one model and corpus: the share at the flip, or at which the
    row was given up."""

    shares: NDArray[np.float64]
    never: NDArray[np.bool_]

    def quantile(self, at: float) -> float:
        """When so many have flipped; NaN where fewer ever do."""
        times, flipped = self._curve
        reached = times[flipped >= at - 1e-12]
        return float(reached[0]) if len(reached) else float("nan")

    @cached_property
    def _curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Kaplan and Meier's, the other way up: the share that has flipped by each time."""
        times, flips = np.unique(self.shares[~self.never], return_counts=True)
        at_risk = len(self.shares) - np.searchsorted(np.sort(self.shares), times)
        return times, 1.0 - np.cumprod(1 - flips / at_risk, dtype=np.float64)


def removals(
    evidence: Evidence, kind: str, by: tuple[str, ...] = ("corpus", "label")
) -> Iterator[tuple[tuple[str, ...], dict[str, Removed]]]:
    """For each corpus and model (and seed, if asked for), each ranking's removals; `kind` is
    `fraction` (of items) or `mass` (of attention)."""
    measures = [f"{part}_{name}" for part in (kind, "never") for name in RANKINGS]
    rows = evidence.rows("importance_sets", [*measures, *_tried()])
    if rows.empty:
        return
    rows = rows.drop_duplicates([*KEYS, *_PLACE[:2], "measure"])  # an example's heads flip together
    for place, part in rows.groupby(list(by), sort=False):
        wide = part.pivot(index=_PLACE, columns="measure", values="value")
        found = {name: _removed(wide, kind, name) for name in RANKINGS if f"never_{name}" in wide}
        yield tuple(map(str, place)), found


def compared(first: Removed, second: Removed) -> SignTest:
    """Which of two rankings flips the same rows sooner."""
    return sign_test(first.shares, second.shares, first.never, second.never)


def _removed(wide: pd.DataFrame, kind: str, name: str) -> Removed:
    never = wide[f"never_{name}"].to_numpy(dtype=float) > 0
    # the attention removed by the last step tried is not known: at most all of it
    told = [each for each in _tried(name) if each in wide] if kind == "fraction" else []
    tried = wide[told].min(axis=1).to_numpy(dtype=float) if told else 1.0
    return Removed(np.where(never, tried, wide[f"{kind}_{name}"].to_numpy(dtype=float)), never)


def _tried(*names: str) -> list[str]:
    """Up to which share of the items: of all rankings, and of one whose weights were gone
    sooner."""
    return ["tried", *(f"tried_{name}" for name in names or RANKINGS)]
