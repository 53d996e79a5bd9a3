"""What a card can do, measured: every share of a peak is of these numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bench.gpu_time import timed

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
