"""`python -m bench.gpu --out FILE`: what training, probes and audits make of a card.

Every measurement is written as soon as it is known, so that a run that is stopped leaves what
it has. Shares of a peak are of peaks measured in the same run; with `--only` the parts that are
kept have shares of the peaks of theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.gpu_audit import audits
from bench.gpu_rates import card
from bench.gpu_training import battery, training
from bench.report import Report, Rows, markdown
from heedful.runner import machine

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
            env=environment(),
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


def environment() -> Mapping[str, str]:
    """The package is found where this one was, also where it is not installed."""
    import heedful

    source = str(Path(heedful.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}


LIMIT = 510.0  # seconds: nothing is begun after that
SECTIONS = ("training", "battery", "several", "audits")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    if options.show is not None:
        print(markdown(json.loads(options.show.read_text(encoding="utf8"))))
        return
    machine(options.device, 1 if options.quick else None)  # full precision, as Heedful runs
    report = Report(options.out, "bench.gpu", options.seconds, keep=bool(options.only))
    report.facts["quick"] = options.quick
    report.facts["card"] = peaks = card(options.device, options.quick)
    report.write()
    work: dict[str, Callable[[], Rows]] = {
        "training": lambda: training(peaks, options.device, options.quick),
        "battery": lambda: battery(peaks, options.device, options.quick),
        "several": lambda: several(options.device, options.quick),
        "audits": lambda: audits(peaks, options.device, options.quick),
    }
    for name in options.only or SECTIONS:
        report.collect(name, work[name])
    print(markdown(report.facts))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the JSON to write")
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="a part, the rest of FILE is kept"
    )
    parser.add_argument("--seconds", type=float, default=LIMIT, help="nothing is begun later")
    parser.add_argument("--show", type=Path, help="only print what this JSON says")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
