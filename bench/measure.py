"""Time and memory of a piece of work, and the one shape of every result: theirs beside ours.

The best time of several runs, and the memory the first of them took beyond what was there.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from heedful.runner import machine

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Measured:
    """`peak_mb` is the most it held at once, `held_mb` what it still held at its end (its
    `value`, mostly); `scale` says what the time was multiplied by."""

    seconds: float
    peak_mb: float | None
    held_mb: float | None
    runs: int
    value: Any
    scale: float = 1.0


def measure(
    work: Callable[[], Any], repeats: int, scale: float = 1.0, enough: float = 60.0
) -> Measured:
    """Best of `repeats` runs; two once `enough` seconds have gone into them, never one: a
    single run beside other work can be many times too long."""
    times: list[float] = []
    peak = held = value = None
    while len(times) < (repeats if sum(times) < enough else min(2, repeats)):
        gc.collect()
        memory = _Memory() if not times else None
        _settle()
        started = time.perf_counter()
        value = work()
        _settle()
        times.append(time.perf_counter() - started)
        if memory is not None:
            peak, held = memory.beyond()
    return Measured(min(times) * scale, peak, held, len(times), value, scale)


def _settle() -> None:
    """A card works on after a call has returned."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


class _Memory:
    """Of the process, or of the card where there is work on one. Gives back what is free, sets
    the peak to what is held, and remembers how much that is."""

    def __init__(self) -> None:
        if torch.cuda.is_initialized():
            _settle()
            torch.cuda.reset_peak_memory_stats()
            self.before: float | None = torch.cuda.memory_allocated() / 1024
        else:
            self.before = _reset()

    def beyond(self) -> tuple[float | None, float | None]:
        """The peak and what is held now, in MB beyond what was there."""
        if self.before is None:
            return None, None
        peak, held = _card() if torch.cuda.is_initialized() else _process()
        return max(0.0, peak - self.before) / 1024, max(0.0, held - self.before) / 1024


def _card() -> tuple[float, float]:
    return torch.cuda.max_memory_allocated() / 1024, torch.cuda.memory_allocated() / 1024


def _process() -> tuple[float, float]:
    return _kilobytes("VmHWM"), _kilobytes("VmRSS")


def _reset() -> float | None:
    try:
        ctypes.CDLL(None).malloc_trim(0)
        _RESET.write_text("5")
        return _kilobytes("VmRSS")
    except (OSError, AttributeError):
        return None


def _kilobytes(field: str) -> float:
    lines = _STATUS.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


# The one shape of every result: theirs beside ours, in seconds and megabytes.


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


# What a part is told: how much, and where.


@dataclass(frozen=True)
class Setting:
    """`quick` is for smoke tests: tiny sizes, and one thread as it has company."""

    quick: bool = False
    device: str = "cpu"
    threads: int | None = None

    def set_up(self) -> None:
        """Full precision, as Heedful runs."""
        machine(self.device, self.threads or (1 if self.quick else None))
        if self.device == "cuda":
            torch.cuda.init()  # so that all memory is the card's from the start

    @property
    def repeats(self) -> int:
        return 1 if self.quick else 3


class Skip(Exception):
    """A part that cannot run here; says why."""


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
