"""Where work runs: the device, and as many workers as cores and memory allow.

Nothing here is part of a run's key.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
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


_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""The limit, what is used of it, and which part of that the kernel gives back when asked: of
control groups of the second and of the first version."""
MOST_WORKERS = 1024
_MARGIN = 1.5  # a worker holds more at once than the sample that was timed here
_LEAST = 1 << 29  # bytes: torch alone takes most of that


def free_memory(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """A group has no more than any group around it."""
    found = (_left(folder) for folder in _folders(groups, own))
    known = [left for left in found if left is not None]
    return max(0, int(min([psutil.virtual_memory().available, *known])))


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    """Those of the groups this process is in, up to the root. Seen from inside a container its
    own group may have another name than from outside; the root is there in any case."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = groups / "memory" if controllers else groups
        inner = root / path.strip("/")
        yield from (each for each in (inner, *inner.parents) if each.is_relative_to(root))


def _left(folder: Path) -> int | None:
    """None where there is no limit."""
    for limit, used, cached in _FILES:
        most, now = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdigit() and now.isdigit():
            lines = _text(folder / "memory.stat").splitlines()
            given_back = dict(line.split(" ", 1) for line in lines).get(cached, 0)
            return int(most) - int(now) + int(given_back)
    return None


def _text(file: Path) -> str:
    return file.read_text(encoding="utf8") if file.is_file() else ""


@dataclass(frozen=True)
class WorkerPool:
    """`workers` at a time with `threads` each; on a GPU each takes `gpu_fraction` of one card.
    `address` is of a running Ray cluster, and None starts one here."""

    workers: int = 1
    threads: int = 1
    gpu_fraction: float = 0.25
    address: str | None = None
    reason: str = ""


def worker_pool(
    workers: int | None = None,
    threads: int | None = None,
    device: str = "cpu",
    gpu_fraction: float = 0.25,
    address: str | None = None,
) -> WorkerPool:
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
    return WorkerPool(workers, threads or max(1, cores() // workers), gpu_fraction, address, reason)


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
