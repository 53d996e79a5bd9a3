"""`python -m bench.gpu --out FILE`: what training, probes and audits make of a card.

Every measurement is written as soon as it is known, so that a run that is stopped leaves what
it has. Shares of a peak are of peaks measured in the same run; with `--only` the parts that are
kept have shares of the peaks of theirs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.gpu_audit import audits
from bench.gpu_battery import battery
from bench.gpu_card import card
from bench.gpu_page import markdown
from bench.gpu_report import Report, Rows
from bench.gpu_several import several
from bench.gpu_train import training
from heedful.runner import machine

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
