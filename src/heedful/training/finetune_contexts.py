"""What holds while an epoch lasts and not a step longer: dropout's seed, lower precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Dropout by a seed of its own; what others draw later is as if nothing had been drawn."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def autocast(wanted: bool, device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, dtype=torch.bfloat16) if wanted else nullcontext()


@contextmanager
def tf32(wanted: bool) -> Iterator[None]:
    """Products that keep ten bits, for as long as the block lasts."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or wanted
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
