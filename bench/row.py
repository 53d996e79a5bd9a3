"""The one shape of every result: theirs beside ours, in seconds and megabytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.memory import Measured


@dataclass(frozen=True)
class Cost:
    """Seconds, and the peak of memory beyond what was held before (None: not measured)."""

    seconds: float
    mb: float | None

    @classmethod
    def of(cls, measured: Measured) -> Cost:
        return cls(measured.seconds, measured.peak_mb)


@dataclass(frozen=True)
class Row:
    """One part at one size. `name` says whose way theirs is; where there is none to compare
    with, `theirs` is None. The `note` says whether results agree, and what was scaled."""

    section: str
    part: str
    size: str
    name: str
    theirs: Cost | None
    ours: Cost
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.theirs.seconds / self.ours.seconds

    def as_json(self) -> dict[str, Any]:
        """Rounded: more digits than a timing has would only be noise in a diff."""
        costs = {"theirs": _rounded(self.theirs), "ours": _rounded(self.ours)}
        ratio = None if self.ratio is None else round(self.ratio, 3)
        return {**asdict(self), **costs, "ratio": ratio}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Row:
        theirs, ours = (_cost(found[side]) for side in ("theirs", "ours"))
        assert ours is not None
        section, part, size, name = (found[each] for each in ("section", "part", "size", "name"))
        return cls(section, part, size, name, theirs, ours, found["note"])


def joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _rounded(cost: Cost | None) -> dict[str, float | None] | None:
    if cost is None:
        return None
    seconds = float(f"{cost.seconds:.4g}")
    return {"seconds": seconds, "mb": None if cost.mb is None else round(cost.mb, 1)}


def _cost(found: Mapping[str, Any] | None) -> Cost | None:
    return None if found is None else Cost(found["seconds"], found["mb"])
