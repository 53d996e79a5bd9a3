"""Layers changed one by one, and more and more of them together: means with bounds."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import clipped, of_texts, percent, shown
from heedful.verdict import cell, closed, first, sample

ACCURACY, MOVED = "correct_stack", "tvd_stack"
ENDS = ("first", "last")
NUMBERS = ["mean", "low", "high", "n"]
_LAYER = re.compile(r"attention:layer=(\d+)")
_STACK = re.compile(r"permute (.*):(first|last)=(\d+)", re.DOTALL)


def alone(evidence: AuditEvidence) -> pd.DataFrame:
    """How far the output moves when one layer is changed: a line per layer, edit and mode."""
    lines = []
    for name, operator in evidence.named("tvd_layer"):
        match, (edit, _, mode) = _LAYER.fullmatch(name), operator.partition(" ")
        values = evidence.values("tvd_layer", name, operator)
        if match and len(values):
            lines.append((int(match[1]), edit, mode, *mean_of(evidence, values)))
    table = pd.DataFrame(lines, columns=["layer", "edit", "mode", *NUMBERS])
    return table.sort_values(["edit", "mode", "layer"], ignore_index=True)


def stacks(evidence: AuditEvidence) -> pd.DataFrame:
    """A line per measure, group of layers, end and number of layers shuffled, none to all."""
    lines = []
    for measure, bounded in ((ACCURACY, share_of), (MOVED, mean_of)):
        for name, operator in evidence.named(measure):
            match, values = _STACK.fullmatch(operator), evidence.values(measure, name, operator)
            if match and len(values):
                place = (measure, match[1], match[2], int(match[3]))
                lines.append((*place, *bounded(evidence, values)))
    columns = ["measure", "group", "end", "count"]
    table = _with_ends(pd.DataFrame(lines, columns=[*columns, *NUMBERS]), evidence)
    return table.sort_values(columns, ignore_index=True)


def untouched(evidence: AuditEvidence) -> pd.Series:
    """1 where the model as it is is right, on the texts whose layers were shuffled."""
    known = _labelled(evidence)
    return (known["label"] == known["predicted"]).astype("float64")


def most_frequent(evidence: AuditEvidence) -> float:
    """The accuracy of always naming the class that is the label most often."""
    return float(_labelled(evidence)["label"].value_counts(normalize=True).max())


def mean_of(evidence: AuditEvidence, values: pd.Series) -> tuple[float, float, float, int]:
    """A mean of numbers from 0 to 1, its bounds over clusters, and how many texts."""
    found = sample([[cell("", "", [("", values)])]], evidence.cluster_of)
    mean, low, high = closed(found, first, evidence.settings.alpha)
    low, high = np.clip([low, high], 0.0, 1.0)
    return mean, float(low), float(high), len(values)


def share_of(evidence: AuditEvidence, values: pd.Series) -> tuple[float, float, float, int]:
    """The same of yes and no. Where nearly all texts agree, a share of 1 − alpha^(1/G) may
    differ and not have been seen in G clusters: no bound is nearer than that."""
    mean, low, high, n = mean_of(evidence, values)
    clusters = len({evidence.cluster_of[str(name)] for name in values.index})
    unseen = 1 - evidence.settings.alpha ** (1 / max(1, clusters))
    low, high = np.clip([min(low, mean - unseen), max(high, mean + unseen)], 0.0, 1.0)
    return mean, float(low), float(high), n


def layers_line(evidence: AuditEvidence) -> str:
    """One line for a terminal; "" where layers were not measured."""
    table = stacks(evidence)
    measure = ACCURACY if (table["measure"] == ACCURACY).any() else MOVED
    own = table[table["measure"] == measure]
    if own.empty:
        return ""
    total = int(own["count"].max())
    group = str(own[own["count"] == total]["group"].iloc[0])
    one = own[own["group"] == group]
    means = dict(zip(zip(one["end"], one["count"], strict=True), one["mean"], strict=True))
    ways = {"none": ("first", 0), "the first": ("first", 1), "the last": ("last", 1)}
    ways |= {f"all {total}": ("first", total)}
    show, what = (percent, "accuracy") if measure == ACCURACY else (shown, "mean TVD")
    said = [f"{show(means.get(place))} with {name}" for name, place in ways.items()]
    named = f" of {clipped(group)}" if own["group"].nunique() > 1 else ""
    return f"Layers{named} shuffled: {what} {', '.join(said)} ({of_texts(int(one['n'].max()))})."


def _labelled(evidence: AuditEvidence) -> pd.DataFrame:
    places = evidence.named(ACCURACY)
    names = {name for place in places for name in evidence.values(ACCURACY, *place).index}
    return evidence.examples[evidence.examples.index.isin(list(names))]


def _with_ends(table: pd.DataFrame, evidence: AuditEvidence) -> pd.DataFrame:
    """Both curves of a group begin with nothing shuffled and end with all of its layers, which
    the table has once, among those from the first on."""
    parts = [table]
    for (measure, group), part in table.groupby(["measure", "group"], sort=True):
        whole = part[part["count"] == part["count"].max()].iloc[:1]
        none = (0.0, math.nan, math.nan, int(whole["n"].iloc[0]))
        start = share_of(evidence, untouched(evidence)) if measure == ACCURACY else none
        lines = [(measure, group, end, 0, *start) for end in ENDS]
        parts += [whole.assign(end="last"), pd.DataFrame(lines, columns=table.columns)]
    return pd.concat(parts, ignore_index=True).drop_duplicates(list(table.columns[:4]))
