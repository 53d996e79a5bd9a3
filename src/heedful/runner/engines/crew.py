"""How many workers, and what each may use: sized to the cores and the memory there are."""

from __future__ import annotations

import os
import resource
import sys
from dataclasses import dataclass

import torch

from heedful.errors import HeedfulError
from heedful.runner.engines.memory import free_memory

MOST_WORKERS = 1024
_MARGIN = 1.5  # a worker holds more at once than the sample that was timed here
_LEAST = 1 << 29  # bytes: torch alone takes most of that


@dataclass(frozen=True)
class Crew:
    """`workers` at a time with `threads` each; on a GPU each takes `gpu_fraction` of one card.
    `address` is of a running Ray cluster, and None starts one here."""

    workers: int = 1
    threads: int = 1
    gpu_fraction: float = 0.25
    address: str | None = None
    reason: str = ""


def crew(
    workers: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
    gpu_fraction: float = 0.25,
    address: str | None = None,
) -> Crew:
    """As many as were asked for, else as many as cores, memory and cards have room for."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise HeedfulError(f"--workers is {workers}: give a number from 1 to {MOST_WORKERS}.")
    if not 0 < gpu_fraction <= 1:
        raise HeedfulError(f"--gpu-fraction is {gpu_fraction:g}: give a number above 0, up to 1.")
    reason = "as asked"
    if workers is None and address is not None:
        workers, reason = MOST_WORKERS, "or as many as the cluster has room for"
    elif workers is None:
        workers, reason = _room(device, gpu_fraction)
    return Crew(workers, threads or max(1, cores() // workers), gpu_fraction, address, reason)


def cores() -> int:
    """Those this process may use, which on a shared machine are not all there are."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _room(device: str, gpu_fraction: float) -> tuple[int, str]:
    each, free = worker_memory(), free_memory()
    bounds = {f"{cores()} cores": cores()}
    bounds[f"{free / 1e9:.1f} GB free, about {each / 1e9:.1f} GB each"] = int(free // each)
    if device == "cuda":
        cards = torch.cuda.device_count()
        bounds[f"{cards} cards, {gpu_fraction:g} of one each"] = int(cards / gpu_fraction)
    reason = min(bounds, key=lambda name: bounds[name])
    return max(1, bounds[reason]), reason


def worker_memory() -> int:
    """About what a worker will need: this process has just loaded and timed the same things."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(_LEAST, int(_MARGIN * peak * (1 if sys.platform == "darwin" else 1024)))
