"""A cell: one measure under one operator in one checkpoint, as complete cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float


@dataclass(frozen=True)
class Cell:
    """`values` has a column for the explanation on trial, then its floor, then its ceiling,
    as far as the formula needs them; examples with any of them undefined are left out and
    counted. `names` are the columns' explanations. `sign` is −1 where less is better."""

    measure: str
    operator: str
    names: tuple[str, ...]
    examples: tuple[str, ...]
    values: Float[np.ndarray, "n c"]
    undefined: int
    sign: int = 1

    @property
    def name(self) -> str:
        return f"{self.measure} ({self.operator})" if self.operator else self.measure

    def take(self, keep: Bool[np.ndarray, " n"]) -> Cell:
        names = tuple(name for name, kept in zip(self.examples, keep, strict=True) if kept)
        return Cell(
            self.measure,
            self.operator,
            self.names,
            names,
            self.values[keep],
            self.undefined,
            self.sign,
        )


def cell(
    measure: str,
    operator: str,
    columns: Sequence[tuple[str, pd.Series]],
    sign: int = 1,
) -> Cell:
    """Paired columns. Pairing is by example: a mean over other examples is another mean."""
    table = pd.concat([column for _, column in columns], axis=1, sort=True)
    whole = table.dropna()
    return Cell(
        measure,
        operator,
        tuple(name for name, _ in columns),
        tuple(str(name) for name in whole.index),
        whole.to_numpy(dtype=np.float64),
        len(table) - len(whole),
        sign,
    )


def best_floor(wide: pd.DataFrame, floors: Sequence[str]) -> str:
    """The floor that is harder to beat, chosen once; "" where none was measured."""
    means = {
        name: float(np.nanmean(wide[name].to_numpy(dtype=np.float64)))
        for name in floors
        if name in wide.columns and wide[name].notna().any()
    }
    return max(means, key=lambda name: means[name], default="")
