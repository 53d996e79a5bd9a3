"""`python -m bench.cost --out FILE`: what full grids and very large audits would cost.

Constants are fitted to small sizes, held against two larger ones, and applied to the grid that
the studies themselves describe. `--page` writes `docs/cost.md` from what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import psutil
import torch

from bench import cost_apply, cost_audit, cost_times
from bench.cost_model import needs
from bench.cost_page import page
from bench.cost_times import runs
from bench.report import Report, Rows
from heedful.runner import machine

LIMIT = 540.0  # seconds: nothing is begun after that
SECTIONS = ("runs", "audit", "training", "probes", "memory")
MEASURED, PAGE = Path("bench/measured"), Path("docs/cost.md")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    if options.page:
        options.page_out.write_text(page(_read("cost.json"), _read("gpu.json")), encoding="utf8")
        return
    machine(options.device, 1 if options.quick else None)  # full precision, as Heedful runs
    report = Report(options.out, "bench.cost", options.seconds, keep=bool(options.only))
    report.facts["quick"] = options.quick
    machines = report.facts.setdefault("machines", {})
    known = {row["key"] for row in report.facts.get("probes", ())} if options.more else set()
    for name, work in _work(options, known).items():
        if name in (options.only or SECTIONS):
            machines[name] = _machine(options.device)
            report.collect(name, work, more=bool(known) and name == "probes")
    apply(report.facts)
    report.write()
    print(page(report.facts, None))


def apply(facts: dict[str, Any]) -> None:
    """As far as what is known allows."""
    found = needs()
    if all(facts.get(name) for name in ("runs", "training", "probes")):
        rows = cost_apply.studies(found, facts)
        facts["studies"] = [*rows, cost_apply.total(rows)]
        facts["longest"] = cost_apply.longest(found, facts)
    if facts.get("audit"):
        facts["billion"] = cost_apply.audit(facts)
        facts["enough"] = cost_apply.enough(facts)
    if facts.get("audit") and facts.get("memory"):
        facts["breaks"] = cost_apply.breaks(facts)


def _work(options: argparse.Namespace, known: Collection[str]) -> dict[str, Callable[[], Rows]]:
    device, quick, found = options.device, options.quick, needs()
    times, audits = cost_times.CPU, cost_audit.CPU
    if device == "cuda":
        times, audits = cost_times.CARD, cost_audit.CARD
    if quick:
        times, audits = cost_times.QUICK, cost_audit.QUICK
    return {
        "runs": lambda: runs(device),
        "audit": lambda: cost_audit.audits(audits, device, quick),
        "training": lambda: cost_times.trainings(found, times, device),
        "probes": lambda: cost_times.probings(found, times, device, known),
        "memory": lambda: cost_audit.grown(audits),
    }


def _machine(device: str) -> dict[str, Any]:
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.split("+")[0],
        "memory_bytes": psutil.virtual_memory().total,
        "disk_bytes": shutil.disk_usage(".").total,
    }


def _read(name: str) -> dict[str, Any] | None:
    path = MEASURED / name
    if not path.is_file():
        print(f"{path} is not there: its part of the page is left out", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.cost", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("cost.json"), help="the JSON to write")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    only = "a part, repeatable; the rest of FILE is kept"
    parser.add_argument("--only", action="append", choices=SECTIONS, help=only)
    more = "keep the probes that FILE knows, and go on with the others"
    parser.add_argument("--more", action="store_true", help=more)
    parser.add_argument("--seconds", type=float, default=LIMIT, help="nothing is begun later")
    parser.add_argument("--page", action="store_true", help=f"write {PAGE} from {MEASURED}")
    parser.add_argument("--page-out", type=Path, default=PAGE, help="where the page goes")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
