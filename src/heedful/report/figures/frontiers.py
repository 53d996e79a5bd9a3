"""How far trained adversaries get: beside seeds and per-text adversaries (wiegreffe2019), and those
of several models beside each other (tutek2020).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from heedful.entries import figure
from heedful.report.evidence import Evidence
from heedful.report.figures.distributions import LN2
from heedful.report.figures.multiples import Words
from heedful.report.panels import (
    GREY,
    KINDS,
    WIDTH,
    Figure,
    Group,
    Panel,
    class_colour,
    dashed_line,
    on_axis,
)
from heedful.report.readable import points, weight
from heedful.report.sheet import need
from heedful.studies import dataset_name

FRONTIER = Words(
    "frontier",
    "Attending elsewhere, saying the same (wiegreffe2019, test 4; tutek2020, Figure 1)",
    "Each point is a mean over texts with 95% intervals: change of the predicted probability "
    "(TVD) and distance of attention (JSD, at most ln 2, dashed). The line joins trained "
    "adversaries by their weight λ, written beside; diamonds learned the labels instead of the "
    "model’s outputs. Seeds are ordinary models (median over seeds), the triangle weights that "
    "were found for one text at a time and that no training produced. The earlier a trained "
    "adversary’s line turns right at the height of the seeds, the less attention can be moved "
    "without changing what the model says.",
    "Trained adversaries",
    "No adversary was trained.",
)
ROLES = {
    "teacher": ("trained adversary", KINDS["search"], "circle"),
    "labels": ("trained on the labels", KINDS["matched"], "diamond"),
    "seeds": ("other seeds", GREY, "square"),
    "exact": ("one text at a time", KINDS["exact"], "triangle-up"),
}
"""Each kind of point in words, its colour and its shape."""


@figure("frontier", paper="wiegreffe2019, test 4; tutek2020, Figure 1")
def frontier(evidence: Evidence) -> Figure:
    """Trained adversaries by λ, TVD against JSD, beside seeds and exact adversaries."""
    together = evidence.together[evidence.together["group"] == "all"]
    tables = (
        (str(corpus), str(model), table_of(part))
        for (corpus, model), part in together.groupby(["corpus", "model"], sort=False)
    )
    panels = (
        (corpus, Panel(model, _frontier_chart(table), _frontier_says(model, table)))
        for corpus, model, table in tables
        if table["kind"].isin(["teacher", "labels"]).any()
    )
    return FRONTIER.of_panels(panels, tuple((words, colour) for words, colour, _ in ROLES.values()))


def table_of(part: pd.DataFrame) -> pd.DataFrame:
    """The points of one corpus and model; `part` has its measured means."""
    numbers = {(str(x["probe"]), str(x["measure"])): x for x in part.to_dict("records")}
    names = points([measure for probe, measure in numbers if probe == "frontier"])
    wanted = [
        (
            "labels" if name.startswith("labels") else "teacher",
            f"{weight(name):g}",
            ("frontier", f"tvd:{name}"),
            ("frontier", f"jsd:{name}"),
        )
        for name in names
    ]
    wanted.append(("seeds", "", ("seeds", "delta_seeds"), ("seeds", "jsd_seeds")))
    wanted.append(("exact", "", ("adversarial", "tvd_adversary"), ("adversarial", "jsd_adversary")))
    lines = [
        (kind, text, order, *_with_ends(numbers[x]), *_with_ends(numbers[y]))
        for order, (kind, text, x, y) in enumerate(wanted)
        if x in numbers and y in numbers
    ]
    axes = [name + end for name in ("tvd", "jsd") for end in ("", "_low", "_high")]
    return pd.DataFrame(lines, columns=["kind", "text", "order", *axes])


def _with_ends(line: Mapping[Any, Any]) -> list[float]:
    """A mean and its interval; where there is none, a point is its own."""
    mean, *ends = (float(line[name]) for name in ("mean", "low", "high"))
    return [mean, *(end if math.isfinite(end) else mean for end in ends)]


def _frontier_chart(table: pd.DataFrame) -> Any:
    roles = [ROLES[kind] for kind in table["kind"]]
    return _plane(
        table.assign(colour=[each[1] for each in roles], shape=[each[2] for each in roles])
    )


def _plane(table: pd.DataFrame) -> Any:
    """Distance of attention over change of the output; adversaries of one colour are joined."""
    alt = need("altair")
    table = table.assign(strength=table["text"]).dropna(subset=["tvd", "jsd"])
    most = max(0.05, float(table["tvd_high"].max()) * 1.08)
    x = on_axis("x", "change of the output (TVD)", domain=[0, most], nice=False)
    y = on_axis("y", "distance of attention (JSD)", domain=[0, 0.72], nice=False)
    base = alt.Chart(table, width=WIDTH, height=200).encode(color=alt.Color("colour:N", scale=None))
    line = base.transform_filter("datum.kind === 'teacher'").mark_line(strokeWidth=1, opacity=0.6)
    rule = base.mark_rule(opacity=0.5)
    dots = base.mark_point(filled=True, size=60, opacity=1)
    words = base.mark_text(align="left", dx=6, dy=-6, fontSize=9)
    place = {"x": x("tvd"), "y": y("jsd")}
    return alt.layer(
        dashed_line(jsd=LN2).encode(y=y("jsd")),
        line.encode(**place, order="order:Q"),
        rule.encode(x=x("tvd_low"), x2="tvd_high:Q", y=y("jsd")),
        rule.encode(y=y("jsd_low"), y2="jsd_high:Q", x=x("tvd")),
        dots.encode(**place, shape=alt.Shape("shape:N", scale=None)),
        words.encode(**place, text="text:N"),
    )


def _frontier_says(model: str, table: pd.DataFrame) -> str:
    parts = "; ".join(
        f"{ROLES[line['kind']][0]}{' λ ' * bool(line['text'])}{line['text']}: "
        f"JSD {line['jsd']:.2f}, TVD {line['tvd']:.2f}"
        for line in table.to_dict("records")
    )
    return f"{FRONTIER.about}, {model}: {parts}."


IMITATION = Words(
    "imitation",
    "Is one model harder to imitate than another? (tutek2020, Figure 1)",
    "Trained adversaries of each model by their weight λ: change of the output (TVD) and distance "
    "of attention (JSD, at most ln 2), means over texts with 95% intervals. If a model’s line lies "
    "further right at the same height, its attention cannot be moved as far without changing what "
    "it says. Where λ is the same, so is the weight of the distance in training.",
    "Adversaries of several models",
    "No two models of a corpus have trained adversaries.",
)


@figure("frontier", paper="tutek2020, Figure 1")
def imitation(evidence: Evidence) -> Figure:
    """Trained adversaries of all models of a corpus in one panel."""
    together = evidence.together[evidence.together["group"] == "all"]
    groups = []
    for corpus, cells in together.groupby("corpus", sort=False):
        every = {str(model): table_of(part) for model, part in cells.groupby("model", sort=False)}
        taught = {name: table[table["kind"] == "teacher"] for name, table in every.items()}
        taught = {name: table for name, table in taught.items() if len(table)}
        if len(taught) > 1:
            colours = {name: class_colour(place) for place, name in enumerate(taught)}
            says = "; ".join(_by_weight(name, table) for name, table in taught.items())
            lines = [table.assign(colour=colours[name]) for name, table in taught.items()]
            drawn = _plane(pd.concat(lines, ignore_index=True).assign(shape="circle"))
            panel = Panel("adversaries by λ", drawn, f"TVD and JSD. {says}.")
            groups.append(Group(dataset_name(str(corpus)), tuple(colours.items()), (panel,)))
    return IMITATION.figure(groups)


def _by_weight(model: str, table: pd.DataFrame) -> str:
    lines = table.to_dict("records")
    parts = (f"λ {line['text']} {line['tvd']:.2f} and {line['jsd']:.2f}" for line in lines)
    return f"{model}: {', '.join(parts)}"
