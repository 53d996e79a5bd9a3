"""What a figure is: panels of one size and one look, grouped by corpus, with a caption.

The page lays the panels out itself, so they flow from a phone to a wide screen; a file on
its own gets all of them in one chart. Panels are put together as plain Vega-Lite, since
Altair copies all data whenever charts are nested.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.sheet import need

CLASSES = ("#3f88c5", "#d2781a", "#2a9d7a", "#b266a8", "#8a8f98", "#c4504a")
"""Predicted classes 0, 1, …: blue and orange first. All have at least 3:1 on white and black."""

KINDS = {"exact": "#8d6cc4", "search": "#1f9e89", "matched": "#d2781a"}
"""The three adversaries, apart from the classes' colours where both could be meant."""

INK = "#3b3f46"
GREY = "#8a8f98"
FAINT = "#d9dce1"
FONT = "Helvetica, Arial, sans-serif"
WIDTH, HEIGHT = 240, 130
LABELS = 320
"""Pixels for the name of a line: of a model with its terms, of a way to replace attention."""


def class_colour(label: int) -> str:
    return CLASSES[int(label) % len(CLASSES)]


def panel_title() -> dict[str, Any]:
    """How a panel's title looks."""
    return {"fontSize": 11, "fontWeight": "normal", "anchor": "start", "color": INK}


def chart_theme(background: str) -> dict[str, Any]:
    """Vega-Lite's config: thin grid, no frame, no descriptions on single marks."""
    return {
        "background": background,
        "font": FONT,
        "aria": False,
        "view": {"stroke": None},
        "title": {"color": INK, "fontSize": 15, "anchor": "start", "offset": 8},
        "axis": {
            "labelColor": INK,
            "titleColor": INK,
            "labelFontSize": 10,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "gridColor": FAINT,
            "domainColor": GREY,
            "tickColor": GREY,
            "tickSize": 4,
            "labelFlush": False,
        },
        "text": {"color": INK, "font": FONT},
    }


COLUMNS = 3
LETTER, SQUARE, ROW = 6.2, 36.0, 18.0
"""Of a legend in pixels: about how wide a letter is, a square with its margins, how high a row."""
WIDEST = COLUMNS * (WIDTH + 100.0)
LONGEST = 44
"""Letters of a panel's title that fit above it."""
Spec = dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """One small Altair chart. `says` is what somebody who cannot see it is told."""

    title: str
    chart: Any
    says: str

    @cached_property
    def bare(self) -> Spec:
        """The chart as Vega-Lite, without a theme."""
        spec: Spec = self.chart.to_dict(validate=False)
        spec.pop("config", None)
        return spec

    def spec(self) -> Spec:
        """The panel for a page: no background, the page's own colours shine through."""
        return {**self.bare, "config": chart_theme("transparent")}


@dataclass(frozen=True)
class Group:
    """The panels of one corpus, and what their colours mean."""

    title: str
    legend: tuple[tuple[str, str], ...]
    panels: tuple[Panel, ...]

    def spec(self) -> Spec:
        title = {"text": self.title, "fontSize": 13, "anchor": "start"}
        grid = {"concat": [_titled(panel) for panel in self.panels], "columns": COLUMNS}
        key = [_key(self.legend)] if self.legend else []
        return {"title": title, "vconcat": [*key, grid], "spacing": 6}


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    caption: str
    groups: tuple[Group, ...]
    missing: str = ""
    """Why there is nothing to see, or what was left out."""
    wide: bool = False

    def spec(self) -> Spec:
        """All panels in one chart, on white, with legends of its own."""
        panels = [panel for group in self.groups for panel in group.panels]
        data = {name: rows for panel in panels for name, rows in panel.bare["datasets"].items()}
        return {
            "$schema": panels[0].bare["$schema"],
            "config": chart_theme("white"),
            "title": self.title,
            "vconcat": [group.spec() for group in self.groups],
            "spacing": 28,
            "datasets": data,
        }

    def chart(self) -> Any:
        """The same as an Altair chart, for a notebook."""
        return need("altair").Chart.from_dict(self.spec(), validate=False)


def _titled(panel: Panel) -> Spec:
    inner = {name: part for name, part in panel.bare.items() if name not in ("$schema", "datasets")}
    lines = textwrap.wrap(panel.title, LONGEST) or [""]
    return {**inner, "title": {"text": lines, **panel_title()}}


def _key(legend: tuple[tuple[str, str], ...]) -> Spec:
    """A legend drawn as squares with words: each as wide as its words, in as many rows as they
    need."""
    values: list[Spec] = []
    start, row = 0.0, 0
    for name, colour in legend:
        wide = min(SQUARE + LETTER * len(name), WIDEST)
        if start and start + wide > WIDEST:
            start, row = 0.0, row + 1
        values.append({"x": start, "row": row, "colour": colour, "name": name, "end": start + wide})
        start += wide
    width = max((value["end"] for value in values), default=0.0)
    across, down = {"domain": [0, width]}, {"domain": [-0.5, row + 0.5], "reverse": True}
    place = {
        "x": {"field": "x", "type": "quantitative", "axis": None, "scale": across},
        "y": {"field": "row", "type": "quantitative", "axis": None, "scale": down},
    }
    square = {"type": "square", "size": 90, "opacity": 1, "xOffset": 6}
    painted = {"field": "colour", "type": "nominal", "scale": None}
    words = {"type": "text", "align": "left", "dx": 16, "fontSize": 11, "limit": WIDEST - SQUARE}
    return {
        "data": {"values": values},
        "width": width,
        "height": ROW * (row + 1),
        "layer": [
            {"mark": square, "encoding": {**place, "color": painted}},
            {"mark": words, "encoding": {**place, "text": {"field": "name", "type": "nominal"}}},
        ],
    }


# What charts are built of.


def on_axis(channel: str, title: str, **scale: Any) -> Callable[[str], Any]:
    """One axis, `x` or `y`, for several columns: `at("low")` places marks by the column `low`."""
    alt = need("altair")
    kind = {"x": alt.X, "y": alt.Y}[channel]
    return lambda column: kind(f"{column}:Q", title=title, scale=alt.Scale(**scale))


def named_rows(data: pd.DataFrame, column: str, step: int = 20, **axis: Any) -> Any:
    """A chart with a row of `step` pixels for each name in `column`, in their order."""
    alt = need("altair")
    y = alt.Y(f"{column}:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS, **axis))
    return alt.Chart(data, width=WIDTH, height={"step": step}).encode(y=y)


def dashed_line(**place: float | str) -> Any:
    """A dashed line at one `place`, to be encoded by the column of that name."""
    alt = need("altair")
    return alt.Chart(alt.Data(values=[place])).mark_rule(strokeDash=[3, 3], color=GREY)


# A histogram of one number per text.


@dataclass(frozen=True)
class Axis:
    """The common x axis of all panels, and a value to mark on it."""

    title: str
    low: float
    high: float
    bins: int
    mark: float
    mark_text: str = ""
    room: float = 0.0
    """Empty space after the highest value, so that a mark there can be seen."""


def shares(rows: pd.DataFrame, axis: Axis) -> pd.DataFrame:
    """Per `colour`, the share of its values in each bin; values outside go to the end bins."""
    edges = np.linspace(axis.low, axis.high, axis.bins + 1)
    parts = []
    for colour, part in rows.groupby("colour", sort=True):
        values = np.clip(part["value"].to_numpy(dtype=float), axis.low, axis.high)
        counts, _ = np.histogram(values, edges)
        share = counts / max(1, counts.sum())
        frame = pd.DataFrame({"left": edges[:-1], "right": edges[1:], "share": share})
        parts.append(frame.assign(colour=colour))
    return pd.concat(parts, ignore_index=True)


def histogram(rows: pd.DataFrame, axis: Axis, top: float) -> Any:
    """A panel; `rows` has a value and a colour per line, `top` is the highest share drawn."""
    alt = need("altair")
    table = shares(rows, axis)
    x = on_axis("x", axis.title, domain=[axis.low, axis.high + axis.room], nice=False)("left")
    y = alt.Y(
        "share:Q",
        title="share of texts",
        axis=alt.Axis(format=".0%", tickCount=4),
        scale=alt.Scale(domain=[0, 1.12 * top], nice=False),
    )
    base = alt.Chart(table, width=WIDTH, height=HEIGHT).encode(
        x=x, x2="right:Q", y=y, color=alt.Color("colour:N", scale=None)
    )
    bars = base.mark_rect(opacity=0.42).encode(y2=alt.value(HEIGHT))
    tops = base.mark_rule(strokeWidth=2).transform_filter("datum.share > 0")
    mark = dashed_line(left=axis.mark, text=axis.mark_text).encode(x="left:Q")
    words = mark.mark_text(align="right", dx=-4, y=6, fontSize=10, color=INK).encode(text="text:N")
    return bars + tops + (mark + words)
