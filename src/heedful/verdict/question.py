"""What is asked of the evidence by a property that is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import Formula

Cells = tuple[Cell, ...]


@dataclass(frozen=True)
class Question:
    """What is asked of the cells. `sides` names what must agree before there is a decision
    (an operator, a measure), `least` how many of those there must be. `drops` are the two
    columns whose distance must shrink when weights are randomised; with `drops_if_high` only
    a value that reaches the threshold has to show that it does. `gap` is how far apart floor
    and ceiling must clearly be. Where nothing was measured, `missing` says what it takes."""

    property: str
    unit: str
    formula: Formula
    threshold: float
    sides: Callable[[Cell], str]
    what: str
    least: int = 1
    drops: tuple[int, int] = (0, 1)
    drops_if_high: bool = True
    gap: float = 0.0
    missing: str = "not asked for, or not possible here."
