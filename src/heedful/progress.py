"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Called with a label, the work done and the total."""

    def __call__(self, label: str, done: int, total: int) -> None: ...


def silent(label: str, done: int, total: int) -> None:
    """Nobody listens."""


def seconds_each(few: tuple[int, float], many: tuple[int, float]) -> float:
    """What one text takes, from two timings (texts, seconds): what both cost alike is left out."""
    return max(0.0, many[1] - few[1]) / (many[0] - few[0])


def duration(seconds: float) -> str:
    """For people: `40 s`, `25 min`, `3.5 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
