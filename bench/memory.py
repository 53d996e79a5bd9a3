"""Best time of several runs, and the memory the first of them took beyond what was there.

Linux can reset a process's peak (`clear_refs`), so the peak of one piece of work is known
without starting a process for it. Elsewhere memory is not measured.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

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
