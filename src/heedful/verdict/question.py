"""What is asked of the evidence by a property that is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import Formula

Cells = tuple[Cell, ...]


@dataclass(frozen=True)
class Question:
    """What is asked of the cells. `sides` names what is averaged over (an operator, a measure),
    `least` how many of those there must be. `gap` is how far apart floor and ceiling must clearly
    be in every cell, `drops` the two columns whose distance must shrink when weights are
    randomised; None leaves either check out. `together` statements share one alpha. Where nothing
    was measured, `missing` says what it takes."""

    property: str
    unit: str
    formula: Formula
    threshold: float
    sides: Callable[[Cell], str]
    what: str
    least: int = 1
    drops: tuple[int, int] | None = None
    gap: float | None = None
    together: int = 1
    missing: str = "not asked for, or not possible here."
