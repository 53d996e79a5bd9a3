"""What one batch of an audit left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from heedful.auditing.explained import Cost
from heedful.auditing.shown import nothing


@dataclass(frozen=True)
class Part:
    """Its rows of the table, the maps, what they cost, what was skipped, and what a page shows."""

    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: Mapping[str, Cost]
    skipped: Mapping[str, str]
    shown: pd.DataFrame = field(default_factory=nothing)
    documents: pd.DataFrame = field(default_factory=pd.DataFrame)
