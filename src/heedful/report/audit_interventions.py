"""What happens when attention is changed, and what its layers and heads do.

Histograms of how far the output moves, panels over layers, matrices of heads and sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.charts import Charts, Drawn
from heedful.report.formats import DASH, clipped, of_texts, percent, shown, with_bounds
from heedful.report.panels import CLASSES, HEIGHT, KINDS, WIDTH, Axis, Panel, histogram, shares
from heedful.report.sheet import need
from heedful.verdict import mean_interval, share_interval

CHANGES = {
    "": "untouched",
    "uniform": "uniform",
    "permute": "permuted",
    "uniform everywhere": "uniform, every layer",
    "permute everywhere": "permuted, every layer",
    "uniform_trained": "trained with uniform attention",
}
ITEMS = {
    "js_top": "the heaviest item",
    "js_random": "another at random",
    "js_best": "the item that matters most",
}
FURTHEST = math.log(2)
BINS = 25


@dataclass(frozen=True)
class Histogram:
    """Which numbers, on which axis (its title and end), in which words."""

    title: str
    note: str
    values: pd.Series
    on: tuple[str, float]
    colour: str

    @property
    def middle(self) -> str:
        """What stands below it."""
        mean, median = shown(self.values.mean()), shown(self.values.median())
        return f"mean {mean} (dashed), median {median}, {of_texts(len(self.values))}"

    def panel(self) -> Panel:
        """From 0 to as far as the axis goes, with the mean marked."""
        values, (words, high) = self.values, self.on
        axis = Axis(words, 0.0, high, BINS, float(values.mean()))
        rows = pd.DataFrame({"value": values.to_numpy(), "colour": self.colour})
        top = float(shares(rows, axis)["share"].max())
        title = f"{self.title} ({self.note})" if self.note else self.title
        says = (
            f"{title}: {of_texts(len(rows))}, mean {shown(values.mean())}, "
            f"median {shown(values.median())}, from {shown(values.min())} to {shown(values.max())}."
        )
        return Panel(title, histogram(rows, axis, top), says)


def changes(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    """What the page says of changed attention; `name` is that of its charts."""

    def drawn(histograms: list[Histogram], of: str) -> list[tuple[Histogram, Drawn]]:
        panels = charts.draw_all((each.panel() for each in histograms), f"{name}-{of}")
        return list(zip(histograms, panels, strict=True))

    return {
        "lines": edits(evidence),
        "erased": items(evidence),
        "moved": drawn(moved(evidence), "moved"),
        "exclusive": drawn(exclusive(evidence), "same"),
        "exact": is_exact(evidence),
        "reachable": reachable(evidence),
    }


def edits(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Accuracy and change of the output, edit by edit; an edit that did the same as another
    (one layer is every layer) is not shown twice."""
    before, found = evidence.values("correct"), []
    for operator in _operators(evidence):
        correct, moved = (evidence.values(name, "", operator) for name in ("correct", "tvd"))
        if operator.endswith(" everywhere") and _same(evidence, operator):
            continue
        found.append(
            {
                "name": CHANGES.get(operator, operator),
                "accuracy": percent(correct.mean()),
                "drop": shown(before.mean() - correct.mean()) if operator else "–",
                "mean": shown(moved.mean()) if operator else "–",
                "median": shown(moved.median()) if operator else "–",
                "n": str(max(len(correct), len(moved))),
            }
        )
    return found


def items(evidence: AuditEvidence) -> list[dict[str, str]]:
    """One item erased from attention, the rest made to sum to one again."""
    series = {name: evidence.values(name, evidence.on_trial) for name in ITEMS}
    return [
        {"name": ITEMS[name], "mean": shown(each.mean()), "n": of_texts(len(each))}
        for name, each in series.items()
        if len(each)
    ]


def moved(evidence: AuditEvidence) -> list[Histogram]:
    """How much the output of each text moves."""
    axis = ("change of the output (TVD)", 1.0)
    permuted, note = evidence.values("tvd_permuted", evidence.on_trial), "median over permutations"
    if not len(permuted):
        permuted, note = evidence.values("tvd", "", "permute"), "one permutation each"
    drawn = [
        Histogram("Uniform attention", "", evidence.values("tvd", "", "uniform"), axis, CLASSES[0]),
        Histogram("Permuted attention", note, permuted, axis, CLASSES[1]),
    ]
    return [each for each in drawn if len(each.values)]


def exclusive(evidence: AuditEvidence) -> list[Histogram]:
    """How far another attention can be with the same output: exact, or what a search found."""
    trial, search = evidence.on_trial, "a lower bound, by search"
    note, colour = ("exact", KINDS["exact"]) if is_exact(evidence) else (search, KINDS["search"])
    jsd = ("Jensen–Shannon divergence (nats)", FURTHEST)
    values, axis = evidence.values("jsd_same_output", trial), jsd
    ratio = evidence.values("jsd_same_output_ratio", trial)
    if len(ratio):
        values, axis = ratio, ("share of the furthest possible", 1.0)
    matched = evidence.values("jsd_entropy_matched", trial)
    drawn = [
        Histogram("Same output", note, values, axis, colour),
        Histogram("Same output, as spread out", search, matched, jsd, KINDS["matched"]),
    ]
    return [each for each in drawn if len(each.values)]


def is_exact(evidence: AuditEvidence) -> bool:
    """Where the decision is linear in attention it is solved, and reachability with it."""
    return len(evidence.values("reachable", evidence.on_trial)) > 0


def reachable(evidence: AuditEvidence) -> str:
    found = evidence.values("reachable", evidence.on_trial)
    if not len(found):
        return ""
    share, n = percent(found.mean()), of_texts(len(found))
    return f"Some attention over the same states would change the decision in {share} of {n}."


def _operators(evidence: AuditEvidence) -> list[str]:
    found = {operator for name in ("correct", "tvd") for _, operator in evidence.named(name)}
    return [*(name for name in CHANGES if name in found), *sorted(found - set(CHANGES))]


def _same(evidence: AuditEvidence, operator: str) -> bool:
    alone = operator.removesuffix(" everywhere")
    return all(
        evidence.values(name, "", operator).equals(evidence.values(name, "", alone))
        for name in ("tvd", "correct")
    )


ACCURACY, MOVED = "correct_stack", "tvd_stack"
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
            mean = _with_count(mean_interval, evidence, values)
            lines.append((int(match[1]), edit, mode, *mean))
    table = pd.DataFrame(lines, columns=["layer", "edit", "mode", *NUMBERS])
    return table.sort_values(["edit", "mode", "layer"], ignore_index=True)


def stacks(evidence: AuditEvidence) -> pd.DataFrame:
    """A line per measure, group of layers, end and number of layers shuffled, none to all."""
    lines = []
    for measure, interval in ((ACCURACY, share_interval), (MOVED, mean_interval)):
        for name, operator in evidence.named(measure):
            match, values = _STACK.fullmatch(operator), evidence.values(measure, name, operator)
            if match and len(values):
                place = (measure, match[1], match[2], int(match[3]))
                lines.append((*place, *_with_count(interval, evidence, values)))
    columns = ["measure", "group", "end", "count"]
    table = _with_ends(pd.DataFrame(lines, columns=[*columns, *NUMBERS]), evidence)
    return table.sort_values(columns, ignore_index=True)


def _with_count(
    interval: Callable[..., tuple[float, float, float]], evidence: AuditEvidence, values: pd.Series
) -> tuple[float, float, float, int]:
    """A mean, its bounds over clusters, and how many texts."""
    return *interval(values, evidence.cluster_of, evidence.settings.alpha), len(values)


def untouched(evidence: AuditEvidence) -> pd.Series:
    """1 where the model as it is is right, on the texts whose layers were shuffled."""
    known = _labelled(evidence)
    return (known["label"] == known["predicted"]).astype("float64")


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
        start = none
        if measure == ACCURACY:
            start = _with_count(share_interval, evidence, untouched(evidence))
        lines = [(measure, group, end, 0, *start) for end in ENDS]
        parts += [whole.assign(end="last"), pd.DataFrame(lines, columns=table.columns)]
    return pd.concat(parts, ignore_index=True).drop_duplicates(list(table.columns[:4]))


Roles = Mapping[str, tuple[str, str, str]]
"""Each line in words, its colour and its shape: never a colour alone."""

TICKS, APART = 12, 0.14
"""Labels on an axis at most, and the distance between two lines' dots, in layers."""


@dataclass(frozen=True)
class Axes:
    """What is drawn across and up, to which height, and at which value a dashed line lies."""

    x: str
    y: str
    top: float
    mark: float = math.nan


def line_panel(title: str, table: pd.DataFrame, roles: Roles, axes: Axes) -> Panel:
    """`table` has the columns at, line (a role), mean, low and high."""
    alt = need("altair")
    lines = [list(roles).index(str(line)) for line in table["line"]]
    data = table[["at", "mean", "low", "high"]].assign(
        beside=table["at"] + [APART * (each - (len(roles) - 1) / 2) for each in lines],
        colour=[roles[str(line)][1] for line in table["line"]],
        shape=[roles[str(line)][2] for line in table["line"]],
    )
    first, last = int(data["at"].min()), int(data["at"].max())
    ticks = list(range(first, last + 1, math.ceil((last - first + 1) / TICKS)))
    x = alt.X(
        "beside:Q",
        title=axes.x,
        scale=alt.Scale(domain=[first - 0.4, last + 0.4], nice=False),
        axis=alt.Axis(values=ticks, format="d", grid=False),
    )
    y = alt.Y("mean:Q", title=axes.y, scale=alt.Scale(domain=[0, axes.top], nice=False))
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=x, color=alt.Color("colour:N", scale=None)
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(strokeWidth=1.5, opacity=0.8).encode(y=y)
    dots = base.mark_point(filled=True, size=38, opacity=1).encode(
        y=y, shape=alt.Shape("shape:N", scale=None)
    )
    marked = alt.Chart(alt.Data(values=[] if math.isnan(axes.mark) else [{"mean": axes.mark}]))
    mark = marked.mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(y="mean:Q")
    return Panel(title, line + rules + dots + mark, _says(title, table, roles, axes))


def number_table(table: pd.DataFrame) -> dict[str, Any]:
    """A cell for each pair of `row` and `column`, both in the order in which they come."""
    rows, columns = (list(dict.fromkeys(table[name])) for name in ("row", "column"))
    texts = {
        (line["row"], line["column"]): with_bounds(line["mean"], line["low"], line["high"])
        for line in table.to_dict("records")
    }
    lines = [
        {"name": row, "cells": [texts.get((row, column), DASH) for column in columns]}
        for row in rows
    ]
    return {"columns": columns, "lines": lines}


def _says(title: str, table: pd.DataFrame, roles: Roles, axes: Axes) -> str:
    parts = []
    for name, part in table.groupby("line", sort=False):
        ends = [f"{shown(each['mean'])} at {each['at']}" for each in part.to_dict("records")]
        parts.append(f"{roles[str(name)][0]}: {', '.join(ends)}")
    return f"{title} by {axes.x}; {'; '.join(parts)}."


MODES = {
    "recomputed": ("later layers recomputed", CLASSES[0], "circle"),
    "held": ("later layers held at their weights", CLASSES[1], "square"),
}
ENDS = {
    "first": ("from the first layer on", KINDS["exact"], "circle"),
    "last": ("from the last layer on", KINDS["search"], "square"),
}
LAYER_EDITS = {"permute": "Shuffled", "uniform": "Made uniform"}
KINDS_OF_LINE = {ACCURACY: "Accuracy", MOVED: "Mean change of the output"}
OUTPUT = "change (TVD)"
ROOM = 0.1
"""The least that an axis of TVD shows."""


def alone_panels(evidence: AuditEvidence) -> list[Panel]:
    """One layer changed: a panel for each edit, on one scale."""
    table = _known(alone(evidence))
    axes = Axes("layer", OUTPUT, _top(table))
    lines = table.assign(at=table["layer"], line=table["mode"])
    parts = {words: lines[lines["edit"] == edit] for edit, words in LAYER_EDITS.items()}
    return [line_panel(words, part, MODES, axes) for words, part in parts.items() if len(part)]


def alone_numbers(evidence: AuditEvidence) -> dict[str, Any]:
    table = _known(alone(evidence)).sort_values(["layer", "edit", "mode"])
    columns = [f"{LAYER_EDITS[e]}, {m}" for e, m in zip(table["edit"], table["mode"], strict=True)]
    return number_table(table.assign(row=[f"layer {n}" for n in table["layer"]], column=columns))


def stack_panels(evidence: AuditEvidence) -> list[Panel]:
    """More and more layers shuffled: accuracy and change of the output for each group."""
    found = stacks(evidence)
    several = found[found.groupby("group")["count"].transform("max") > 1]
    lines = several.assign(at=several["count"], line=several["end"])
    x, top = "layers shuffled", _top(lines[lines["measure"] == MOVED])
    axes = {
        ACCURACY: Axes(x, "accuracy", 1.0, float(untouched(evidence).mean())),
        MOVED: Axes(x, OUTPUT, top),
    }
    return [
        line_panel(
            KINDS_OF_LINE[str(measure)] + _named(str(group), found),
            part,
            ENDS,
            axes[str(measure)],
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
    most_frequent = _labelled(evidence)["label"].value_counts(normalize=True).max()
    return (
        f"The dashed line is the accuracy of the untouched model, {percent(right.mean())} of "
        f"{of_texts(len(right))}; naming the most frequent class each time would be right in "
        f"{percent(most_frequent)}."
    )


def _known(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["edit"].isin(list(LAYER_EDITS)) & table["mode"].isin(list(MODES))]


def _named(group: str, table: pd.DataFrame) -> str:
    """Where there is more than one group, its name."""
    return f" · {clipped(group)}" if table["group"].nunique() > 1 else ""


def _top(table: pd.DataFrame) -> float:
    highest = table[["mean", "high"]].max().max()
    return ROOM if math.isnan(highest) else max(ROOM, 1.05 * float(highest))


def inside(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    """What the page says of layers and heads."""
    return {
        "stacks": charts.draw_all(stack_panels(evidence), f"{name}-stack"),
        "stack_numbers": stack_numbers(evidence),
        "alone": charts.draw_all(alone_panels(evidence), f"{name}-layer"),
        "alone_numbers": alone_numbers(evidence),
        "heads": heads(evidence),
        "ablated": ablated(evidence),
        "null_space": null_space(evidence),
        "words": stack_words(evidence),
        "ends": list(ENDS.values()),
        "modes": list(MODES.values()),
    }


SPREAD = "entropy"
STATISTICS = {
    SPREAD: "entropy of a query’s weights (nats)",
    "special": "weight on tokens of no word (start, end, separators)",
    "first": "weight on the first token",
    "self": "weight of a token on itself",
    "previous": "weight on the token before",
    "next": "weight on the token after",
    "reader_max": "largest weight of the row the prediction is read from",
}
MOST = 1024
"""Of more heads than these only the first statistic is shown."""
_HEAD = re.compile(r"attention:layer=(\d+),head=(\d+)")


def heads(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """A matrix of layers and heads for each statistic; the first is the one to look at."""
    first = _means(evidence, f"head_{SPREAD}")
    if not first:
        return []
    names = list(STATISTICS) if len(first) <= MOST else [SPREAD]
    found = {name: _means(evidence, f"head_{name}") for name in names}
    return [_matrix(STATISTICS[name], means) for name, means in found.items() if means]


ABLATED = {
    "mean": "output at its mean over texts: the whole effect",
    "direct": "output at its mean, what later heads put out held: the direct effect",
    "zero": "output at zero",
    "permute": "weights in another order",
}


def ablated(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """A matrix of layers and heads for each way in which a head is taken away."""
    found = {name: _means(evidence, "tvd_head", name) for name in ABLATED}
    tops = [mean for means in found.values() for mean, _ in means.values()]
    return [_matrix(ABLATED[name], means, max(tops)) for name, means in found.items() if means]


def null_space(evidence: AuditEvidence) -> str:
    """How far heads' weights could move without changing the output; "" if not known."""
    freedom, apart, moved = (_all(evidence, name) for name in ("freedom", "jsd", "tvd"))
    if not len(freedom):
        return ""
    free = freedom > 0
    if not free.any():
        return (
            "At the last layer no head’s weights can move without changing its output: "
            "the texts have no more tokens than the values have independent directions."
        )
    reached = apart.reindex(freedom.index)[free]
    return (
        f"At the last layer, in {percent(free.mean())} of all pairs of text and head, weights can "
        f"move along {shown(freedom[free].mean(), 0)} directions (mean) without changing the "
        f"head’s output. Linear programmes moved them there by a Jensen–Shannon divergence of "
        f"{shown(reached.mean())} (mean; {shown(math.log(2))} is the maximum). The TVD of the "
        f"output was never above {shown(moved.max())}. This is a lower bound, since only some "
        "directions were tried."
    )


def _means(
    evidence: AuditEvidence, measure: str, wanted: str = ""
) -> dict[tuple[int, int], tuple[float, int]]:
    """Mean over texts and their number, by layer and head; nothing where it has no meaning."""
    found = {}
    for name, operator in evidence.named(measure):
        match = _HEAD.fullmatch(name)
        values = evidence.values(measure, name, operator)
        if match and operator == wanted and len(values):
            found[int(match[1]), int(match[2])] = float(values.mean()), len(values)
    return found


def _matrix(
    words: str, means: dict[tuple[int, int], tuple[float, int]], most: float | None = None
) -> dict[str, Any]:
    """Shades go from 0 to the most there is to see: by default 1, or the largest where that is
    more."""
    layers, columns = (sorted({place[i] for place in means}) for i in (0, 1))
    top = max(1.0, *(mean for mean, _ in means.values())) if most is None else most or 1.0

    def cell(layer: int, head: int) -> dict[str, str]:
        mean, _ = means.get((layer, head), (math.nan, 0))
        shade = "0" if math.isnan(mean) else f"{100 * mean / top:.0f}"
        return {"text": shown(mean, 2), "shade": shade}

    return {
        "title": words,
        "texts": of_texts(max(count for _, count in means.values())),
        "columns": columns,
        "lines": [
            {"name": f"layer {layer}", "cells": [cell(layer, head) for head in columns]}
            for layer in layers
        ],
    }


def _all(evidence: AuditEvidence, name: str) -> pd.Series:
    """The numbers of all heads, one after the other, by head and example."""
    parts = {
        head: evidence.values(f"null_space_{name}", head, operator)
        for head, operator in evidence.named(f"null_space_{name}")
    }
    return pd.concat(parts).astype(np.float64) if parts else pd.Series(dtype=np.float64)
