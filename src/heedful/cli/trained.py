"""What `heedful train` says of the models it trained, or would train."""

from __future__ import annotations

import shlex
from math import isnan
from typing import TYPE_CHECKING, Any

from heedful.cli.terminal import say, show, show_json
from heedful.progress import duration

if TYPE_CHECKING:
    from heedful.store import Run


def result_of(trained: Run, scored: Run) -> dict[str, Any]:
    summary = scored.table("summary")
    notes = scored.json("notes") if scored.has("notes.json") else {}
    return {
        "notes": notes,
        "run": trained.key,
        "scores": summary[["measure", "mean", "low", "high"]].to_dict("records"),
        "history": trained.table("history").to_dict("records"),
    }


def show_results(runs: list[dict[str, Any]], place: list[str], as_json: bool) -> None:
    """`place` are the options by which the next command finds the runs."""
    if as_json:
        show_json("train", runs[0] if len(runs) == 1 else {"runs": runs})
        return
    for run in runs:
        show(f"{run['run']}: {len(run['history'])} epochs")
        for score in run["scores"]:
            name, mean, low, high = (score[key] for key in ("measure", "mean", "low", "high"))
            interval = "" if isnan(low) else f"  [{low:.3f}, {high:.3f}]"
            show(f"  {name:<9} {mean:.3f}{interval}")
        for name, note in run["notes"].items():
            show(f"  {name}: {note}")
        if "folder" in run:
            show(f"  {run['folder']}")
        if any(score["measure"] == "accuracy" for score in run["scores"]):
            say(f"next: {shlex.join(['heedful', 'audit', run['run'], '-o', 'audit', *place])}")


def show_costs(costs: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        document = costs[0] if len(costs) == 1 else {"runs": costs}
        show_json("train", {"dry_run": True, **document})
        return
    for cost in costs:
        show(f"{cost['title']}: about {duration(cost['train_seconds'] + cost['probe_seconds'])}")
