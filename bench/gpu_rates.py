"""What a card can do, and what work makes of it: time, operations, and what bounds it."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

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


# Floating-point operations, counted: a multiplication and an addition are two.
#
# torch has formulas for products of matrices and for convolutions. It has none for products in
# place nor for cuDNN's recurrent layers; those are added here.


def counted(work: Callable[[], Any]) -> int:
    """Of all products while it runs, on any device, forwards and backwards."""
    counter = _Counter()
    with counter:
        work()
    return counter.total


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """torch's own counter follows modules too, and `autograd.grad` does not bear that."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        operation = func._overloadpacket
        if operation in OWN:
            self.total += OWN[operation](*args)
        elif operation in flop_registry:
            self.total += int(flop_registry[operation](*args, **(kwargs or {}), out_val=out))
        return out


def in_place(out: Tensor, a: Tensor, b: Tensor) -> int:
    return 2 * a.shape[0] * a.shape[1] * b.shape[1]


def recurrent(inputs: Tensor, weights: Sequence[Tensor], *rest: Any) -> int:
    """Every matrix of the layer is multiplied with something at every token that is not
    padding: they are packed away."""
    tokens = inputs.numel() // inputs.shape[-1]
    return 2 * tokens * sum(weight.numel() for weight in weights if weight.dim() > 1)


def recurrent_backward(inputs: Tensor, weights: Sequence[Tensor], *rest: Any) -> int:
    """As much again for the slopes of what came in, and, where they are asked for (the last of
    what is given says so), of the weights."""
    return recurrent(inputs, weights) * (2 if list(rest[-1])[3] else 1)


_aten = torch.ops.aten
OWN: dict[Any, Callable[..., int]] = {
    _aten.addmm_: lambda out, a, b, *rest: in_place(out, a, b),
    _aten._cudnn_rnn: recurrent,
    _aten._cudnn_rnn_backward: recurrent_backward,
}


# What bounds a piece of work: the host, arithmetic, memory, or steps that wait for each other.


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


# What a card can do, measured: every share of a peak is of these numbers.


SIDE, COPIED = 8192, 1 << 30  # of a product's matrices; bytes
QUICK_SIDE, QUICK_COPIED = 256, 1 << 20
LAUNCHES = 2000


def card(device: str, quick: bool) -> dict[str, Any]:
    """Rates in FLOP/s and bytes/s, counting bytes read and written."""
    side, copied = (QUICK_SIDE, QUICK_COPIED) if quick else (SIDE, COPIED)
    return {
        **_facts(device),
        "fp32_flops": gemm(device, side, torch.float32),
        "tf32_flops": _with_tf32(device, side),
        "bf16_flops": gemm(device, side, torch.bfloat16),
        "fp64_flops": gemm(device, side // 2, torch.float64),
        "copy_bytes": copy(device, copied),
        "launch_seconds": launch(device),
    }


def gemm(device: str, side: int, dtype: torch.dtype) -> float:
    """A product of two square matrices of random numbers."""
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return float(2 * side**3 / timed(lambda: a @ b, device, 5))


def copy(device: str, size: int) -> float:
    source = torch.randint(0, 99, (size,), device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * size / timed(lambda: target.copy_(source), device, 5)


def launch(device: str) -> float:
    """From one small kernel to the next, when Python asks for them one by one."""
    x = torch.zeros(1, device=device)

    def work() -> None:
        for _ in range(LAUNCHES):
            x.add_(1)

    return timed(work, device) / LAUNCHES


def _facts(device: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": "CPU",
        "cores": os.cpu_count(),
        "torch": torch.__version__.split("+")[0],
    }
    if device == "cuda":
        found = torch.cuda.get_device_properties(0)
        facts |= {"name": found.name, "memory_bytes": found.total_memory}
        facts |= {"multiprocessors": found.multi_processor_count}
    return facts


def _with_tf32(device: str, side: int) -> float | None:
    if device != "cuda":
        return None
    with _allowing_tf32():
        return gemm(device, side, torch.float32)


@contextmanager
def _allowing_tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
