"""Summaries of rows some of which never flip, every ranking on the same examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from heedful.metrics import COLUMNS, restricted_mean, summarise, survival
from heedful.probes.importance_sets_rankings import RANKINGS

SOONER = "tried_"
"""Of a ranking whose weights are gone before its items are."""

_AT_THE_FLIP = ("count_", "fraction_", "mass_")
_NORMAL = 1.959963984540054  # 95% of a normal distribution lie within so many sd


def summary(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """What is measured at the flip is summarised over the examples that all rankings flip (as
    many as `n` says), the rest over all; `restricted_fraction_…` are Kaplan and Meier's mean
    and median with the never-flipping ones censored, over all examples."""
    wide = rows.pivot(index=["site", "example", "head", "query"], columns="measure", values="value")
    never = wide[[f"never_{name}" for name in RANKINGS]].max(axis=1)
    place = pd.MultiIndex.from_frame(rows[["site", "example", "head", "query"]])
    at_the_flip = rows["measure"].str.startswith(_AT_THE_FLIP)
    common = rows[~at_the_flip | (never.loc[place] == 0).to_numpy()]
    lines = [line for site, part in wide.groupby("site") for line in _survival(str(site), part)]
    restricted = pd.DataFrame(lines, columns=COLUMNS)
    table = pd.concat([summarise(common, seed), restricted], ignore_index=True)
    return table.sort_values(["site", "measure"], kind="stable", ignore_index=True)


def _survival(site: str, wide: pd.DataFrame) -> Iterator[dict[str, Any]]:
    # an example's heads flip together: one row each
    wide = wide[~wide.index.get_level_values("example").duplicated()]
    for name in RANKINGS:
        censored = wide[f"never_{name}"].to_numpy() > 0
        shares = np.where(censored, _tried(wide, name), wide[f"fraction_{name}"])
        found = restricted_mean(shares, censored)
        yield {
            "site": site,
            "measure": f"restricted_fraction_{name}",
            "group": "all",
            "n": found.n,
            "undefined": 0,
            "mean": found.mean,
            "sd": np.nan,
            "median": _median(shares, censored),
            "low": found.mean - _NORMAL * found.error,
            "high": found.mean + _NORMAL * found.error,
        }


def _tried(wide: pd.DataFrame, name: str) -> pd.Series:
    sooner = f"{SOONER}{name}"
    return wide[sooner].fillna(wide["tried"]) if sooner in wide else wide["tried"]


def _median(shares: np.ndarray, censored: np.ndarray) -> float:
    """When half have flipped; NaN where fewer ever do."""
    curve = survival(shares, censored)
    half = curve.times[curve.alive <= 0.5 + 1e-12]
    return float(half[0]) if len(half) else float("nan")
