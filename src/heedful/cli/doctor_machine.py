"""The machine as `heedful doctor` sees it: GPUs, memory, disk, and a browser for the tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

GIGABYTE = 1e9


def machine() -> dict[str, Any]:
    """A torch that cannot be imported is told, not raised: this is what a doctor is for."""
    return {**_torch(), "cores": os.cpu_count(), **_memory(), **_disk(), "chromium": _chromium()}


def _torch() -> dict[str, Any]:
    """Drivers and libraries that do not fit end an import in any way they like."""
    try:
        import torch

        there = torch.cuda.is_available()
        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except Exception as error:  # noqa: BLE001 - somebody else's library, and it must be named
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return {"device": "unknown", "gpus": [], "torch_problem": why}
    gpus = names if there else []
    return {"device": gpus[0] if gpus else "cpu", "gpus": gpus, "torch_problem": None}


def _memory() -> dict[str, float | None]:
    try:
        import psutil
    except ModuleNotFoundError:
        return {"memory_gb": None, "memory_free_gb": None}
    found = psutil.virtual_memory()
    return {
        "memory_gb": round(found.total / GIGABYTE, 1),
        "memory_free_gb": round(found.available / GIGABYTE, 1),
    }


def _disk() -> dict[str, float]:
    """Where the command was called: a store is made there unless another place is named."""
    return {"disk_free_gb": round(shutil.disk_usage(Path.cwd()).free / GIGABYTE, 1)}


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")
