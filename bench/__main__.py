"""`python -m bench`: time and memory of the papers' procedures and of Heedful's, in one run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from bench.agreement import agreement
from bench.data import FULL, QUICK, Data, Plan, generate, trained
from bench.ours import PARTS
from bench.reach import Reach, reach
from bench.table import (
    COLUMNS,
    NOTES,
    REACH,
    Row,
    aligned,
    as_json,
    machine,
    reach_cells,
    row_cells,
)
from bench.trial import Trial
from heedful.runner.machine import machine as set_up

ENCODERS = ("cnn", "average")
CHOICES = (*dict.fromkeys(part.split(" ")[0] for part in PARTS), "encoders", "reach")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    threads = options.threads or (1 if options.quick else None)  # a smoke run has company
    set_up(options.device, threads)  # full precision, as Heedful runs
    plan = QUICK if options.quick else FULL
    wanted = options.only or list(CHOICES)
    facts: dict[str, Any] = {"machine": machine(options.device), "quick": options.quick}
    data = generate(plan)
    facts["texts"] = {size.name: _describe(data, size.name) for size in plan.sizes}
    _say("training a BiLSTM on generated texts …")
    model, score = trained(data, "bilstm", plan.epochs, options.device)
    facts["dev_roc_auc"] = score
    rows: list[Row] = []
    differences: dict[str, dict[str, float]] = {}
    for size in plan.sizes:
        trial = Trial(model, data.split(size.name), plan, size)
        found = differences.setdefault(size.name, {})
        for part in (part for part in PARTS if part.split(" ")[0] in wanted):
            _say(f"{size.name}: {part} …")
            rows.append(_tell(trial.row(part)))
            found |= agreement(trial, part)
    if "encoders" in wanted:
        rows += _other_encoders(data, plan, differences, options.device)
    reaches = _reaches(model, data, plan) if "reach" in wanted else []
    facts["agreement"] = differences
    facts["machine"]["load after"] = machine(options.device).get("load")
    report = as_json(facts, rows, reaches)
    print(json.dumps(report, indent=2) if options.json else _text(report, rows, reaches))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, help="torch's threads on the CPU")
    parser.add_argument("--only", action="append", choices=CHOICES, help="a part; repeatable")
    return parser.parse_args(arguments)


def _other_encoders(
    data: Data, plan: Plan, differences: dict[str, dict[str, float]], device: str
) -> list[Row]:
    """Leave-one-out again, where a deletion touches less than the whole text."""
    rows = []
    for encoder in ENCODERS:
        model, _ = trained(data, encoder, 1, device)
        for size in plan.sizes:
            _say(f"{size.name}: leave_one_out, {encoder} …")
            trial = Trial(model, data.split(size.name), plan, size)
            label = f"leave_one_out ({encoder})"
            rows.append(_tell(trial.row("leave_one_out", label=label)))
            for name, value in agreement(trial, "leave_one_out").items():
                differences[size.name][f"{encoder}, {name}"] = value
    return rows


def _reaches(model: Any, data: Data, plan: Plan) -> list[Reach]:
    found = []
    for size in plan.sizes:
        for steps in plan.reach_steps:
            _say(f"{size.name}: search of {steps} steps …")
            found.append(reach(model, data.split(size.name), size.name, steps, plan.repeats))
    return found


def _describe(data: Data, name: str) -> dict[str, float]:
    lengths = data.split(name).lengths
    return {"texts": len(lengths), "mean_tokens": round(float(lengths.mean()), 1)}


def _text(report: dict[str, Any], rows: Sequence[Row], reaches: Sequence[Reach]) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    sizes = "; ".join(
        f"{name}: {fact['texts']} texts, {fact['mean_tokens']} tokens on average"
        for name, fact in report["texts"].items()
    )
    model = f"BiLSTM 2×128, additive, embedding 300, dev ROC-AUC {report['dev_roc_auc']:.3f}"
    parts = [facts, sizes, model, "", aligned(COLUMNS, map(row_cells, rows))]
    if reaches:
        parts += ["", aligned(REACH, map(reach_cells, reaches))]
    for size, found in report["agreement"].items():
        parts += ["", f"agreement, {size}"] if found else []
        parts += [f"  {name}: {value:.3g}" for name, value in found.items()]
    return "\n".join([*parts, "", *NOTES])


def _tell(row: Row) -> Row:
    """As soon as it is known: a bench that is stopped has still said something."""
    seconds = f"{row.reference_seconds:.3f} s, ours {row.ours_seconds:.3f} s"
    _say(f"  {row.ratio:.1f}×: reference {seconds}")
    return row


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
