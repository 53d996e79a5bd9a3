"""What bounds a piece of work: the host, arithmetic, memory, or steps that wait for each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.gpu_time import Kernels

IDLE, NEAR = 0.5, 0.4
HOST = "launches: the card waits for the host"
ARITHMETIC, MEMORY = "arithmetic", "memory bandwidth"
STEPS = "short kernels that wait for each other"


def rates(
    card: Mapping[str, Any],
    seconds: float,
    flops: float,
    least_bytes: float,
    seen: Kernels | None,
    precision: str = "fp32",
) -> dict[str, Any]:
    """Achieved rates over measured peaks. Bytes are the least that must be moved, so their
    share is a lower bound."""
    peak = flops / seconds / card[f"{precision}_flops"]
    moved = least_bytes / seconds / card["copy_bytes"]
    busy = None if seen is None else min(1.0, seen.seconds / seconds)
    return {
        "flops": flops,
        "flops_per_second": flops / seconds,
        "peak_share": peak,
        "least_bytes": least_bytes,
        "bandwidth_share": moved,
        "busy": busy,
        "launches": None if seen is None else seen.launches,
        "kernel": None if seen is None else seen.longest,
        "kernel_share": None if seen is None else seen.longest_share,
        "bound": bound(busy, peak, moved),
    }


def bound(busy: float | None, peak: float, moved: float) -> str:
    """Where a peak is nearly reached that is the bound; else an idle card waits for the host,
    and a busy one for its own last kernel."""
    if max(peak, moved) >= NEAR:
        return ARITHMETIC if peak >= moved else MEMORY
    if busy is None:
        return "unknown: no kernels were seen"
    return HOST if busy < IDLE else STEPS
