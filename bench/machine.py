"""Facts that times depend on; no host name."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

_PACKAGES = ("torch", "transformers", "captum", "inseq")


def facts(device: str, threads: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads or torch.get_num_threads(),
        "memory_gb": _memory(),
        "python": platform.python_version(),
    }
    if device == "cuda":
        found["gpu"] = torch.cuda.get_device_name()
    return found | {name: _version(name) for name in _PACKAGES if _version(name)}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """One table is of one machine. Python and packages that came later may differ."""
    fixed = ("cpu", "cores", "threads", "gpu", "torch")
    return all(a.get(name) == b.get(name) for name in fixed)


def _processor() -> str:
    """Linux knows the model's name; elsewhere what Python says."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def _version(package: str) -> str:
    try:
        return version(package).split("+")[0]
    except PackageNotFoundError:
        return ""
