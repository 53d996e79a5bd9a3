"""What is known of a text before anything is measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from heedful.report.examples.cell import Sorting

COLUMNS = ["predicted", "label", "confidence", "length"]
SORTINGS = (Sorting("confidence", "confidence"), Sorting("length", "length"))


class Known(NamedTuple):
    """A label of −1 is none."""

    predicted: int
    label: int
    confidence: float
    length: float

    @property
    def measures(self) -> dict[str, float]:
        return {"confidence": self.confidence, "length": self.length}


def known_texts(table: pd.DataFrame) -> dict[str, Known]:
    """By text; one that nothing was predicted for is left out."""
    once = table.drop_duplicates("example")
    once = once[once["predicted"].notna()]
    columns = (once[name].to_numpy() for name in ["example", *COLUMNS])
    return {
        str(name): Known(int(p), -1 if pd.isna(y) else int(y), float(c), float(n))
        for name, p, y, c, n in zip(*columns, strict=True)
    }


def means_of(known: Mapping[str, Known]) -> dict[str, float]:
    return {
        each.key: float(np.mean([one.measures[each.key] for one in known.values()]))
        for each in SORTINGS
    }
