"""Where work runs. Never part of a run's key."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from heedful.errors import HeedfulError, unknown_name


@dataclass(frozen=True)
class Machine:
    """`device` is `cpu` or `cuda`; `threads` is fixed so that equal seeds give equal bytes."""

    device: str = "cpu"
    threads: int = 2
    batch_size: int = 1024

    def describe(self) -> dict[str, str | int]:
        """For a run's record: the kind of device, no host name."""
        return {
            "device": self.device,
            "threads": self.threads,
            "torch": torch.__version__.split("+")[0],
        }


def machine(device: str = "auto", threads: int | None = None, batch_size: int = 1024) -> Machine:
    """Choose and set up the device; an impossible one is refused."""
    if device not in ("auto", "cpu", "cuda"):
        raise unknown_name("device", device, ["auto", "cpu", "cuda"])
    if device == "cuda" and not torch.cuda.is_available():
        raise HeedfulError("no CUDA device was found: use --device cpu.")
    most = 4 * (os.cpu_count() or 1)
    if threads is not None and not 1 <= threads <= most:
        raise HeedfulError(f"--threads is {threads}: give a number from 1 to {most}.")
    if batch_size < 1:
        raise HeedfulError("--batch-size must be at least 1.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if threads is not None:
        torch.set_num_threads(threads)
    # TF32 keeps ten bits: enough to train, too few to compare two almost equal outputs
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    return Machine(device, torch.get_num_threads(), batch_size)
