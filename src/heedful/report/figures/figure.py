"""What a figure is: panels of one size, grouped by corpus, with a caption.

The page lays the panels out itself, so they flow from a phone to a wide screen; a file on
its own gets all of them in one chart. Panels are put together as plain Vega-Lite, since
Altair copies all data whenever charts are nested.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from heedful.report.extra import need
from heedful.report.figures.style import WIDTH, chart_theme, panel_title

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
