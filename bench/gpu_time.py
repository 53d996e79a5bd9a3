"""Seconds of work on a device, and how much of them the device was busy."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

Work = Callable[[], Any]


@dataclass(frozen=True)
class Kernels:
    """`seconds` in which at least one kernel ran, how many were launched, and the one that
    took most of the time with its share of all kernels' time."""

    seconds: float
    launches: int
    longest: str
    longest_share: float


def timed(work: Work, device: str, repeats: int = 3) -> float:
    """The median of several runs after one to warm up."""
    _once(work, device)
    return median(_once(work, device) for _ in range(repeats))


def kernels(work: Work, device: str) -> Kernels | None:
    """What ran on the card meanwhile; None elsewhere, or where the profiler sees nothing."""
    if device != "cuda":
        return None
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    events = [each for each in seen.events() or () if each.device_type.name == "CUDA"]
    spans = [(each.name, each.time_range.start, each.time_range.end) for each in events]
    return summed(spans) if spans else None


def summed(spans: Sequence[tuple[str, float, float]]) -> Kernels:
    """From names, starts and ends in microseconds; copies count as kernels."""
    by_name: dict[str, float] = defaultdict(float)
    for name, start, end in spans:
        by_name[name] += end - start
    longest = max(by_name, key=lambda name: by_name[name])
    share = by_name[longest] / max(1e-9, sum(by_name.values()))
    return Kernels(_union(spans) / 1e6, len(spans), longest[:80], share)


def _union(spans: Sequence[tuple[str, float, float]]) -> float:
    """Time covered by at least one span."""
    starts, ends = np.array(sorted((start, end) for _, start, end in spans)).T
    before = np.maximum.accumulate(np.concatenate([[-np.inf], ends[:-1]]))
    return float(np.maximum(0.0, ends - np.maximum(starts, before)).sum())


def _once(work: Work, device: str) -> float:
    _wait(device)
    started = time.perf_counter()
    work()
    _wait(device)
    return time.perf_counter() - started


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
