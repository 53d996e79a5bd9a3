"""How far trained adversaries get, beside seeds and per-text adversaries (wiegreffe2019)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from heedful.entries import ReportFigure, by_name
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import KINDS, WIDTH, Figure, Group, Panel
from heedful.report.model_tables import points, weight
from heedful.studies import dataset_name

TITLE = "Attending elsewhere, saying the same (wiegreffe2019, test 4)"
CAPTION = (
    "Each point is a mean over texts with 95% intervals: change of the predicted probability "
    "(TVD) and distance of attention (JSD, at most ln 2, dashed). The line joins trained "
    "adversaries by their weight λ, written beside; diamonds learned the labels instead of the "
    "model’s outputs. Seeds are ordinary models (median over seeds), the triangle weights that "
    "were found for one text at a time and that no training produced. The earlier a trained "
    "adversary’s line turns right at the height of the seeds, the less attention can be moved "
    "without changing what the model says."
)
COLOURS = {
    "teacher": KINDS["search"],
    "labels": KINDS["matched"],
    "seeds": "#8a8f98",
    "exact": KINDS["exact"],
}
WORDS = {
    "teacher": "trained adversary",
    "labels": "trained on the labels",
    "seeds": "other seeds",
    "exact": "one text at a time",
}
SHAPES = {"teacher": "circle", "labels": "diamond", "seeds": "square", "exact": "triangle-up"}
COLUMNS = ["kind", "text", "order", "tvd", "tvd_low", "tvd_high", "jsd", "jsd_low", "jsd_high"]


def make(evidence: Evidence) -> Figure:
    together = evidence.together[evidence.together["group"] == "all"]
    groups: dict[str, list[Panel]] = {}
    for (corpus, model), part in together.groupby(["corpus", "model"], sort=False):
        table = table_of(part)
        if (table["kind"] == "teacher").any() or (table["kind"] == "labels").any():
            panel = Panel(str(model), _panel(table), _says(str(model), table))
            groups.setdefault(dataset_name(str(corpus)), []).append(panel)
    legend = tuple((WORDS[kind], COLOURS[kind]) for kind in WORDS)
    drawn = tuple(Group(name, legend, tuple(panels)) for name, panels in groups.items())
    missing = "" if drawn else "No adversary was trained."
    return Figure("frontier", TITLE, CAPTION, drawn, missing)


def table_of(part: pd.DataFrame) -> pd.DataFrame:
    """The points of one corpus and model; `part` has its measured means."""
    numbers = {(str(x["probe"]), str(x["measure"])): x for x in part.to_dict("records")}
    names = points([measure for probe, measure in numbers if probe == "frontier"])
    wanted = [
        (_kind(name), f"{weight(name):g}", ("frontier", f"tvd:{name}"), ("frontier", f"jsd:{name}"))
        for name in names
    ]
    wanted.append(("seeds", "", ("seeds", "delta_seeds"), ("seeds", "jsd_seeds")))
    wanted.append(("exact", "", ("adversarial", "tvd_adversary"), ("adversarial", "jsd_adversary")))
    lines = [
        {
            "kind": kind,
            "text": text,
            "order": order,
            **_of("tvd", numbers[x]),
            **_of("jsd", numbers[y]),
        }
        for order, (kind, text, x, y) in enumerate(wanted)
        if x in numbers and y in numbers
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def _kind(point: str) -> str:
    return "labels" if point.startswith("labels") else "teacher"


def _of(name: str, line: Mapping[Any, Any]) -> dict[str, float]:
    """Where there is no interval, a point is its own."""
    mean = float(line["mean"])
    ends = {key: float(line[key]) for key in ("low", "high")}
    return {name: mean} | {
        f"{name}_{key}": value if math.isfinite(value) else mean for key, value in ends.items()
    }


def _panel(table: pd.DataFrame) -> Any:
    alt = need("altair")
    table = table.assign(
        colour=table["kind"].map(COLOURS), shape=table["kind"].map(SHAPES), strength=table["text"]
    ).dropna(subset=["tvd", "jsd"])
    most = max(0.05, float(table["tvd_high"].max()) * 1.08)
    across, up = alt.Scale(domain=[0, most], nice=False), alt.Scale(domain=[0, 0.72], nice=False)

    def x(name: str) -> Any:
        return alt.X(f"{name}:Q", title="change of the output (TVD)", scale=across)

    def y(name: str) -> Any:
        return alt.Y(f"{name}:Q", title="distance of attention (JSD)", scale=up)

    base = alt.Chart(table, width=WIDTH, height=200).encode(color=alt.Color("colour:N", scale=None))
    line = base.transform_filter("datum.kind === 'teacher'").mark_line(strokeWidth=1, opacity=0.6)
    shape = alt.Shape("shape:N", scale=None)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=x("tvd"), y=y("jsd"), shape=shape
    )
    rule = alt.Chart(alt.Data(values=[{"jsd": math.log(2)}]))
    return alt.layer(
        rule.mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(y=y("jsd")),
        line.encode(x=x("tvd"), y=y("jsd"), order="order:Q"),
        base.mark_rule(opacity=0.5).encode(x=x("tvd_low"), x2="tvd_high:Q", y=y("jsd")),
        base.mark_rule(opacity=0.5).encode(y=y("jsd_low"), y2="jsd_high:Q", x=x("tvd")),
        dots,
        base.mark_text(align="left", dx=6, dy=-6, fontSize=9).encode(
            x=x("tvd"), y=y("jsd"), text="text:N"
        ),
    )


def _says(model: str, table: pd.DataFrame) -> str:
    parts = "; ".join(
        f"{WORDS[line['kind']]}{' λ ' * bool(line['text'])}{line['text']}: "
        f"JSD {line['jsd']:.2f}, TVD {line['tvd']:.2f}"
        for line in table.to_dict("records")
    )
    return f"Trained adversaries, {model}: {parts}."


ENTRIES = by_name(
    ReportFigure(
        name="frontier",
        description="Trained adversaries by λ, TVD against JSD, beside seeds and exact "
        "adversaries.",
        make=make,
        paper="wiegreffe2019, test 4",
        needs=("frontier",),
    ),
)
