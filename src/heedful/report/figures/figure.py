"""What a figure is: panels of one size, grouped by corpus, with a caption.

The page lays the panels out itself, so they flow from a phone to a wide screen; a file on
its own gets all of them in one chart. Panels are put together as plain Vega-Lite, since
Altair copies all data whenever charts are nested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from heedful.report.extra import need
from heedful.report.figures.style import chart_theme, panel_title

COLUMNS = 3
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
    return {**inner, "title": {"text": panel.title, **panel_title()}}


def _key(legend: tuple[tuple[str, str], ...]) -> Spec:
    """A legend drawn as a row of squares with words."""
    values = [{"x": x, "colour": colour, "name": name} for x, (name, colour) in enumerate(legend)]
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [0, len(values)]}}
    square = {"type": "square", "size": 90, "opacity": 1, "xOffset": 6}
    colour = {"field": "colour", "type": "nominal", "scale": None}
    words = {"type": "text", "align": "left", "dx": 16, "fontSize": 11}
    return {
        "data": {"values": values},
        "width": 190 * len(values),
        "height": 14,
        "layer": [
            {"mark": square, "encoding": {"x": x, "color": colour}},
            {"mark": words, "encoding": {"x": x, "text": {"field": "name", "type": "nominal"}}},
        ],
    }
