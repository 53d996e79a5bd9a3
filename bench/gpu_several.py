"""Several small models at a time on one card: the same grid by 1, 2, 4 and 8 processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

WORKERS, QUICK_WORKERS = (1, 2, 4, 8), (1, 2)
GRID = ("--encoders", "bilstm,cnn", "--attention", "additive,dot", "--seeds", "4")
QUICK_GRID = ("--encoders", "average", "--seeds", "2", "--limit", "40")
PROBES = "score,correlation,permutation"
CELLS, QUICK_CELLS = 16, 2
LONGEST = 240  # seconds


def several(device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Cells a minute, of the whole command: workers are started, and the table is printed."""
    alone: float | None = None
    for workers in QUICK_WORKERS if quick else WORKERS:
        seconds, said = _study(workers, device, quick)
        alone = alone or seconds
        cells = QUICK_CELLS if quick else CELLS
        yield {
            "workers": workers,
            "cells": cells,
            "seconds": seconds,
            "cells_per_minute": 60 * cells / seconds,
            "ratio": alone / seconds,
            "said": said,
        }


def command(workers: int, device: str, store: Path, quick: bool) -> list[str]:
    """As it may be typed, with `heedful` for the first three words."""
    cores = os.cpu_count() or 1
    places = ("--store", str(store), "--device", device, "--threads", str(max(1, cores // 8)))
    share = ("--gpu-fraction", f"{1 / workers:g}") if device == "cuda" else ()
    engine = ("--engine", "local", "--workers", str(workers), *share)
    size = ("--epochs", "1") if quick else ("--epochs", "6")
    grid = QUICK_GRID if quick else GRID
    study = ("study", "jain2019", "--corpora", "planted", *grid, *size, "--probes", PROBES)
    return [sys.executable, "-m", "heedful.cli.main", *study, *places, *engine]


def _study(workers: int, device: str, quick: bool) -> tuple[float, str]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        done = subprocess.run(
            command(workers, device, Path(folder) / "store", quick),
            capture_output=True,
            text=True,
            timeout=LONGEST,
            env=_environment(),
            check=False,
        )
        seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{workers} workers: {done.stderr[-500:]}")
    return seconds, _last(done.stderr)


def _last(text: str) -> str:
    """What the engine itself says it took."""
    lines = [line.strip() for line in text.splitlines() if "jobs done in" in line]
    return lines[-1] if lines else ""


def _environment() -> Mapping[str, str]:
    """The package is found where this one was, also where it is not installed."""
    import heedful

    source = str(Path(heedful.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
