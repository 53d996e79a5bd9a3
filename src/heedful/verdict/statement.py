"""A statement: one property, a number, an interval, a decision, and what stands behind it."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

NAN = math.nan


class Decision(StrEnum):
    """What is said of a statement. REPORTED ones are never decided on; UNUSABLE and NOT MEASURED
    say why there is no decision, NOT ANSWERED that this kind of explanation does not speak to
    the question, INCONCLUSIVE that more examples may bring a decision."""

    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT SUPPORTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    UNUSABLE = "UNUSABLE"
    NOT_MEASURED = "NOT MEASURED"
    NOT_ANSWERED = "NOT ANSWERED"
    REPORTED = "REPORTED"


@dataclass(frozen=True)
class Part:
    """One measure under one operator: what was put together, and whether it could be used."""

    measure: str
    operator: str
    estimate: float
    value: float
    floor: float
    ceiling: float
    floor_name: str
    n: int
    undefined: int
    usable: bool
    reason: str = ""


@dataclass(frozen=True)
class Stratum:
    """The same statistic on some of the examples."""

    group: str
    estimate: float
    low: float
    high: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Statement:
    """`low` and `high` are one-sided bounds that hold together with those of the other statements
    that decide (each at its share of alpha, and of this look where there are several): a
    statement is decided where both are on one side of the threshold.
    `blocked` says why there can be no decision whatever the numbers; `needed` is about how
    many examples would decide."""

    property: str
    decision: Decision
    unit: str
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    floor: float = NAN
    ceiling: float = NAN
    threshold: float = NAN
    p_above: float = 1.0
    p_below: float = 1.0
    error: float = NAN
    seed_error: float = 0.0
    n: int = 0
    clusters: int = 0
    checkpoints: int = 0
    undefined: int = 0
    needed: int | None = None
    share_failing: float = NAN
    macro: float = NAN
    blocked: str = ""
    parts: tuple[Part, ...] = ()
    by_class: tuple[Stratum, ...] = ()
    by_length: tuple[Stratum, ...] = ()
    by_confidence: tuple[Stratum, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @builtins.property
    def health(self) -> str:
        """Usable where something could be scored; else why not."""
        reasons = [
            f"{part.measure} {part.operator}".strip() + f": {part.reason}"
            for part in self.parts
            if not part.usable
        ]
        if any(part.usable for part in self.parts):
            return "usable" if not reasons else f"usable in part ({'; '.join(reasons)})"
        return f"unusable ({'; '.join(reasons)})" if reasons else "not measured"

    @builtins.property
    def decided(self) -> bool:
        return self.decision in (Decision.SUPPORTED, Decision.NOT_SUPPORTED)


def number(value: float) -> str:
    """Two digits after the point, three for small numbers."""
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"
