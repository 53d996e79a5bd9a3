"""Which lines of a summary the findings and reasons look at, beside those that papers print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pandas as pd


@dataclass(frozen=True)
class Need:
    """Measures of a probe and groups of texts, as patterns."""

    probe: str
    measures: tuple[str, ...]
    groups: tuple[str, ...] = ("all",)


NEEDS = (
    Need("adversarial", ("jsd_exact", "jsd_search", "jsd_entropy_matched"), ("all", "length=*")),
    Need("mutual_information", ("chance:*",)),
    Need("reachability", ("fixed",)),
    Need("seeds", ("jsd_seeds", "jsd_seeds_max", "delta_seeds")),
    Need("frontier", ("jsd:*", "tvd:*")),
    Need("rationale", ("mass_inside", "share_inside")),
)


def needed(probe: str, table: pd.DataFrame) -> pd.Series:
    """Of each line of a summary, whether it is kept."""
    own = [need for need in NEEDS if need.probe == probe]
    pairs = zip(table["measure"], table["group"], strict=True)
    kept = [
        any(_fits(str(measure), each.measures) and _fits(str(group), each.groups) for each in own)
        for measure, group in pairs
    ]
    return pd.Series(kept, index=table.index, dtype=bool)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
