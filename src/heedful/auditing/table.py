"""The table of measurements: one row per example and number, whatever was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from torch import Tensor

from heedful.experiments import Columns, gather, joined, repeated

COLUMNS = (
    "model",
    "example",
    "cluster",
    "label",
    "predicted",
    "confidence",
    "length",
    "explanation",
    "operator",
    "measure",
    "value",
)


@dataclass(frozen=True)
class Facts:
    """What is known of each example of a batch before anything is measured."""

    example: tuple[str, ...]
    cluster: tuple[str, ...]
    label: np.ndarray
    predicted: np.ndarray
    confidence: np.ndarray
    length: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        return {
            "example": np.array(self.example, dtype=object),
            "cluster": np.array(self.cluster, dtype=object),
            "label": self.label,
            "predicted": self.predicted,
            "confidence": self.confidence,
            "length": self.length,
        }

    def take(self, rows: list[int]) -> Facts:
        return Facts(
            tuple(self.example[row] for row in rows),
            tuple(self.cluster[row] for row in rows),
            self.label[rows],
            self.predicted[rows],
            self.confidence[rows],
            self.length[rows],
        )


@dataclass
class Table:
    """Gathers measures of one batch."""

    facts: Facts
    _parts: list[Columns] = field(default_factory=list)

    def add(
        self,
        measures: Mapping[str, Tensor],
        explanation: str = "",
        operator: str = "",
        model: str = "base",
    ) -> None:
        """One number per example for each measure."""
        names = {"model": model, "explanation": explanation, "operator": operator}
        columns = {key: repeated(name, len(self.facts.example)) for key, name in names.items()}
        gather(self._parts, {**columns, **self.facts.columns()}, measures)

    def extend(self, other: Table) -> None:
        """Add what was measured on some of the examples."""
        self._parts += other._parts

    def rows(self) -> pd.DataFrame:
        return pd.DataFrame(joined(self._parts) if self._parts else [], columns=list(COLUMNS))


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """In an order that does not depend on batches."""
    keys = ["model", "explanation", "operator", "measure", "example"]
    return rows.sort_values(keys, kind="stable").reset_index(drop=True)
