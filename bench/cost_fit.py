"""Costs as sums of a few products, each with a constant that is measured and never negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

SPREAD = 1 + 1 / 12
"""The mean square of lengths spread evenly by half of their mean, over the mean's square."""


@dataclass(frozen=True)
class Point:
    """Where a cost is measured or wanted: so many texts of a mean length (of side a, and of
    side b), in batches of so many, with vectors of so many words."""

    texts: int = 0
    length: int = 0
    second: int = 0
    batch: int = 0
    vocabulary: int = 0
    dimension: int = 0


FEATURES: Mapping[str, Callable[[Point], float]] = {
    "once": lambda p: 1.0,
    "step": lambda p: p.length + p.second,
    "text": lambda p: p.texts,
    "token": lambda p: (p.texts or p.batch) * (p.length + p.second),
    "pair": lambda p: (p.texts or p.batch) * SPREAD * p.length**2,
    "number": lambda p: p.vocabulary * p.dimension,
    "word": lambda p: p.batch * p.second * p.vocabulary,
}
UPDATE = ("once", "step", "token", "number")
UPDATE_WRITING = (*UPDATE, "word")
WORK = ("once", "step", "text", "token", "pair")
AUDIT = ("text", "token", "pair")
BYTES = ("once", "text", "token")
LINEAR = ("once", "text")


@dataclass(frozen=True)
class Fit:
    """A constant for each product."""

    constants: Mapping[str, float]

    def predict(self, point: Point) -> float:
        return sum(value * FEATURES[name](point) for name, value in self.constants.items())


def fit(measured: Sequence[tuple[Point, float]], features: Sequence[str]) -> Fit:
    """Relative errors count, so that small sizes count as much as large ones."""
    wanted = np.array([max(value, 1e-9) for _, value in measured])
    table = np.array([[FEATURES[name](point) for name in features] for point, _ in measured])
    scale = table.max(0).clip(1e-9)
    found, _ = nnls(table / scale / wanted[:, None], np.ones(len(wanted)))
    return Fit(dict(zip(features, (found / scale).tolist(), strict=True)))


def checked(known: Fit, point: Point, measured: float) -> dict[str, Any]:
    """A prediction beside what was measured at a size the constants have not seen."""
    predicted = known.predict(point)
    return {
        "at": asdict(point),
        "predicted": predicted,
        "measured": measured,
        "ratio": predicted / max(measured, 1e-12),
    }
