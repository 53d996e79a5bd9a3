"""The layers and heads of the model on trial, as panels, tables and sentences."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_layers import ACCURACY, MOVED, alone, most_frequent, stacks, untouched
from heedful.report.audit_lines import Axes, line_panel, number_table
from heedful.report.audit_numbers import clipped, of_texts, percent
from heedful.report.figures.figure import Panel
from heedful.report.figures.style import CLASSES, KINDS

MODES = {
    "recomputed": ("later layers recomputed", CLASSES[0], "circle"),
    "held": ("later layers held at their weights", CLASSES[1], "square"),
}
ENDS = {
    "first": ("from the first layer on", KINDS["exact"], "circle"),
    "last": ("from the last layer on", KINDS["search"], "square"),
}
EDITS = {"permute": "Shuffled", "uniform": "Made even"}
KINDS_OF_LINE = {ACCURACY: "Accuracy", MOVED: "Mean change of the output"}
OUTPUT = "change of the output (TVD)"
ROOM = 0.1
"""The least that an axis of TVD shows."""


def alone_panels(evidence: AuditEvidence) -> list[Panel]:
    """One layer changed: a panel for each edit, on one scale."""
    table = _known(alone(evidence))
    axes = Axes("layer", OUTPUT, _top(table))
    lines = table.assign(at=table["layer"], line=table["mode"])
    parts = {words: lines[lines["edit"] == edit] for edit, words in EDITS.items()}
    return [line_panel(words, part, MODES, axes) for words, part in parts.items() if len(part)]


def alone_numbers(evidence: AuditEvidence) -> dict[str, Any]:
    table = _known(alone(evidence)).sort_values(["layer", "edit", "mode"])
    columns = [f"{EDITS[e]}, {m}" for e, m in zip(table["edit"], table["mode"], strict=True)]
    return number_table(table.assign(row=[f"layer {n}" for n in table["layer"]], column=columns))


def stack_panels(evidence: AuditEvidence) -> list[Panel]:
    """More and more layers shuffled: accuracy and change of the output for each group."""
    found = stacks(evidence)
    several = found[found.groupby("group")["count"].transform("max") > 1]
    lines = several.assign(at=several["count"], line=several["end"])
    x, top = "layers shuffled", _top(lines[lines["measure"] == MOVED])
    axes = {
        ACCURACY: Axes(x, "accuracy", 1.0, _mean(untouched(evidence))),
        MOVED: Axes(x, OUTPUT, top),
    }
    return [
        line_panel(
            KINDS_OF_LINE[str(measure)] + _named(str(group), found), part, ENDS, axes[str(measure)]
        )
        for (group, measure), part in lines.groupby(["group", "measure"], sort=True)
    ]


def stack_numbers(evidence: AuditEvidence) -> dict[str, Any]:
    """Also of groups of one layer, which are not drawn."""
    table = stacks(evidence).sort_values(["group", "count", "end", "measure"])
    names = {ACCURACY: "accuracy", MOVED: "TVD"}
    pairs = zip(table["end"], table["measure"], strict=True)
    columns = [f"{names[measure]}, {ENDS[end][0]}" for end, measure in pairs]
    places = zip(table["count"], table["group"], strict=True)
    rows = [f"{count or 'none'}{_named(group, table)}" for count, group in places]
    return number_table(table.assign(row=rows, column=columns))


def stack_words(evidence: AuditEvidence) -> str:
    """What the accuracies are to be held against."""
    right = untouched(evidence)
    if right.empty:
        return "There are no labels, so no accuracy."
    return (
        f"The dashed line is the accuracy of the untouched model, {percent(right.mean())} of "
        f"{of_texts(len(right))}; naming the most frequent class each time would be right in "
        f"{percent(most_frequent(evidence))}."
    )


def _known(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["edit"].isin(list(EDITS)) & table["mode"].isin(list(MODES))]


def _named(group: str, table: pd.DataFrame) -> str:
    """Where there is more than one group, its name."""
    return f" · {clipped(group)}" if table["group"].nunique() > 1 else ""


def _top(table: pd.DataFrame) -> float:
    highest = table[["mean", "high"]].max().max()
    return ROOM if math.isnan(highest) else max(ROOM, 1.05 * float(highest))


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else math.nan
