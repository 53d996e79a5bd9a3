"""What a figure is: panels of one size and one look, grouped by corpus, with a caption.

The page lays the panels out itself, so they flow from a phone to a wide screen; a file on
its own gets all of them in one chart. Panels are put together as plain Vega-Lite, since
Altair copies all data whenever charts are nested.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.studies import dataset_name

CLASSES = ("#3f88c5", "#d2781a", "#2a9d7a", "#b266a8", "#8a8f98", "#c4504a")
"""Predicted classes 0, 1, …: blue and orange first. All have at least 3:1 on white and black."""

KINDS = {"exact": "#8d6cc4", "search": "#1f9e89", "matched": "#d2781a"}
"""The three adversaries, apart from the classes' colours where both could be meant."""

INK = "#3b3f46"
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
            "domainColor": "#8a8f98",
            "tickColor": "#8a8f98",
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


Draw = Callable[[pd.DataFrame], Any]
Legend = tuple[tuple[str, str], ...]


ANY = -2
"""Stands for the predicted class where there are more than colours; even, as class 0 is."""


@dataclass(frozen=True)
class Words:
    """A figure's name, title, caption and the noun its panels are about."""

    name: str
    title: str
    caption: str
    about: str
    nothing: str = ""

    @property
    def missing(self) -> str:
        """Why there is nothing to see."""
        return self.nothing or f"{self.about} was not measured."


def small_multiples(
    evidence: Evidence, rows: pd.DataFrame, words: Words, draw: Draw, legend: Legend | None = None
) -> Figure:
    """Panels over the defined rows; undefined ones are counted, and what is empty says so."""
    if rows.empty:
        return Figure(words.name, words.title, words.caption, (), words.missing)
    rows = folded(evidence, rows)
    defined = rows[np.isfinite(rows["value"].to_numpy(dtype=float))]
    lost = len(rows) - len(defined)
    missing = f"{lost} of {len(rows)} values are undefined and left out." if lost else ""
    groups = []
    for corpus, part in defined.groupby("corpus", sort=False):
        panels = tuple(
            Panel(str(model), draw(cell), _says(words.about, cell, str(model)))
            for model, cell in part.groupby("label", sort=False)
        )
        names = legend or class_legend(evidence, str(corpus), part)
        groups.append(Group(dataset_name(str(corpus)), names, panels))
    if not groups:
        missing = f"{words.about} is undefined for all {len(rows)} texts."
    return Figure(words.name, words.title, words.caption, tuple(groups), missing)


def by_corpus(
    words: Words,
    table: pd.DataFrame,
    legend: Legend,
    panels: Callable[[pd.DataFrame], Iterable[Panel]],
    corpus: str = "corpus",
    wide: bool = False,
) -> Figure:
    """A group for each name in the column `corpus`, with the panels of its lines."""
    groups = tuple(
        Group(dataset_name(str(name)), legend, tuple(panels(part)))
        for name, part in table.groupby(corpus, sort=False)
    )
    missing = "" if groups else words.missing
    return Figure(words.name, words.title, words.caption, groups, missing, wide)


def painted(names: pd.Series, roles: Mapping[str, tuple[str, str]]) -> pd.Series:
    """The colour of each name; `roles` has words and a colour for it."""
    return names.map({name: colour for name, (_, colour) in roles.items()})


def folded(evidence: Evidence, rows: pd.DataFrame) -> pd.DataFrame:
    """Classes are not told apart where they are the words of a text that is written, or more
    than there are colours."""
    if rows.empty:
        return rows
    few = rows.groupby("corpus")["predicted"].transform("nunique") <= len(CLASSES)
    written = [name for name in rows["corpus"].unique() if evidence.writes(str(name))]
    told = few & ~rows["corpus"].isin(written)
    return rows.assign(predicted=rows["predicted"].where(told, ANY))


def class_legend(evidence: Evidence, corpus: str, rows: pd.DataFrame) -> Legend:
    """Colours of the predicted classes, with their names where the corpus gives them."""
    names = evidence.label_names(corpus)
    found = sorted(int(label) for label in rows["predicted"].unique())
    words = {ANY: "any prediction"} | {
        one: f"predicted {names.get(one, f'class {one}')}" for one in found if one != ANY
    }
    return tuple((words[one], class_colour(one)) for one in found)


def _says(about: str, cell: pd.DataFrame, model: str) -> str:
    values = cell["value"]
    means = "; ".join(
        f"{measure} mean {part['value'].mean():.2f}" for measure, part in cell.groupby("measure")
    )
    texts, seeds = cell["example"].nunique(), cell["seed"].nunique()
    of_seeds = f" and {seeds} seeds" if seeds > 1 else ""
    return (
        f"{about}, {model}: {texts} texts{of_seeds}; {means}; "
        f"from {values.min():.2f} to {values.max():.2f}."
    )
