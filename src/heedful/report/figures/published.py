"""Published beside measured at a glance: every τ of Table 2 on one line."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import KINDS, LABELS, WIDTH
from heedful.report.tables import published_beside_measured

NAMES = {"tau_gradient": "attention × gradients", "tau_loo": "attention × leaving out"}
PAPER, SLIDES, MEASURED = "#d2781a", "#8a8f98", KINDS["exact"]
LEGEND = (("measured, 95% interval", MEASURED), ("paper", PAPER), ("slides", SLIDES))
TITLE = "Published beside measured"
CAPTION = (
    "Average Kendall τ by model and predicted class (0, 1). Dot and bar: measured here with its "
    "95% interval; diamond and ring: the two printed versions, where the paper gives them."
)


def make(evidence: Evidence) -> Figure:
    frame = published_beside_measured(evidence)
    frame = frame[frame["metric"].isin(list(NAMES)) & frame["measured"].notna()]
    if frame.empty:
        return Figure("published", TITLE, CAPTION, (), "No τ was measured.", wide=True)
    groups = tuple(
        Group(str(dataset), LEGEND, tuple(_panels(part)))
        for dataset, part in frame.groupby("dataset", sort=False)
    )
    return Figure("published", TITLE, CAPTION, groups, wide=True)


def _panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(name, _panel(part[part["metric"] == metric]), _says(name, part, metric))
        for metric, name in NAMES.items()
        if (part["metric"] == metric).any()
    ]


def _panel(cells: pd.DataFrame) -> Any:
    alt = need("altair")
    data = cells.assign(row=cells["model"] + " · " + cells["class"])
    numbers = ["row", "measured", "low", "high", "published_paper", "published_slides"]
    least = min(0.0, float(data[numbers[1:]].min().min()))
    scale = alt.Scale(domain=[least, 1.0])
    y = alt.Y("row:N", title=None, sort=None, axis=alt.Axis(grid=True, labelLimit=LABELS))
    base = alt.Chart(data[numbers], width=WIDTH, height={"step": 17}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="average τ", scale=scale)

    bar = base.mark_rule(strokeWidth=3, opacity=0.5, color=MEASURED).encode(x=at("low"), x2="high")
    dot = base.mark_point(filled=True, size=55, opacity=1, color=MEASURED).encode(x=at("measured"))
    paper = base.mark_point(shape="diamond", size=60, strokeWidth=1.8, color=PAPER)
    slides = base.mark_point(size=45, strokeWidth=1.6, color=SLIDES)
    return alt.layer(
        bar, slides.encode(x=at("published_slides")), paper.encode(x=at("published_paper")), dot
    )


def _says(name: str, part: pd.DataFrame, metric: str) -> str:
    cells = part[part["metric"] == metric]
    return f"τ of {name}: {len(cells)} cells, measured {cells['measured'].mean():.2f} on average."


PIECE = Piece(
    name="published",
    description="Every τ of jain2019's Table 2, published and measured, with intervals.",
    make=make,
    paper="jain2019, Table 2",
    needs=("correlation",),
)
