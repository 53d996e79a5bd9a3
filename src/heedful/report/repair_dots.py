"""The picture of a repair: the score against each property, a dot with intervals per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from heedful.report.audit_numbers import shown
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import CLASSES, KINDS
from heedful.report.repair_numbers import BASE, by_method, named, quantities

GREY = CLASSES[4]
COLOURS = (*CLASSES[:4], CLASSES[5], *KINDS.values())
SHAPES = ("circle", "square", "triangle-up")
WIDTH, HEIGHT = 270, 200
LEAST = 0.05
"""An axis never shows less than this on either side of the dots."""

Role = tuple[str, str, str]
"""A name, its colour and its shape."""


def roles(table: pd.DataFrame) -> list[Role]:
    """The base is the grey diamond; colours and shapes both tell the others apart."""
    others = [str(name) for name in dict.fromkeys(table["method"]) if name != BASE]
    return [
        (BASE, GREY, "diamond"),
        *(
            (name, COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)])
            for i, name in enumerate(others)
        ),
    ]


def panels(table: pd.DataFrame, within: float) -> list[Panel]:
    """One per property that was measured; up and to the right is better in all of them."""
    score, *properties = quantities(table)
    return [_panel(table, score, name, within) for name in properties]


def figure(table: pd.DataFrame, within: float) -> Figure:
    """All panels in one chart, for a file of its own."""
    legend = tuple((name, colour) for name, colour, _ in roles(table))
    group = Group("", legend, tuple(panels(table, within)))
    return Figure("repair", "What a repair gains and costs", "", (group,))


def _panel(table: pd.DataFrame, score: str, name: str, within: float) -> Panel:
    points = _points(table, score, name)
    lower = bool(table.loc[table["quantity"] == name, "lower_is_better"].any())
    alt = need("altair")
    across = alt.Scale(domain=_domain(points, "x"), nice=False, zero=False, reverse=lower)
    up = alt.Scale(domain=_domain(points, "y", within), nice=False, zero=False)
    title = f"{named(name)}{' (axis reversed: less is better)' if lower else ''}"
    x = alt.X("x:Q", title=title, scale=across, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=named(score), scale=up, axis=alt.Axis(tickCount=5))
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(points, width=WIDTH, height=HEIGHT)
    bar = {"clip": True, "strokeWidth": 1.8, "opacity": 0.45}
    chart = (
        _guides(alt, points, within, x, y)
        + base.mark_rule(**bar).encode(
            x=alt.X("x_low:Q", scale=across), x2="x_high:Q", y=y, color=colour
        )
        + base.mark_rule(**bar).encode(
            y=alt.Y("y_low:Q", scale=up), y2="y_high:Q", x=x, color=colour
        )
        + base.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, **_looks(alt))
    )
    return Panel(named(name), chart, _says(points, named(score), named(name)))


def _looks(alt: Any) -> dict[str, Any]:
    return {
        "shape": alt.Shape("shape:N", scale=None),
        "size": alt.Size("size:Q", scale=None),
    }


def _points(table: pd.DataFrame, score: str, name: str) -> pd.DataFrame:
    """A row per method that has the property; the base last, so that it lies on top."""
    found, seen = by_method(table), {role[0]: role for role in roles(table)}
    rows = [
        {
            "method": method,
            "colour": seen[method][1],
            "shape": seen[method][2],
            "size": 170 if method == BASE else 95,
            **_ends(found[method][name], "x"),
            **_ends(found[method][score], "y"),
        }
        for method in [*(m for m in seen if m != BASE), BASE]
    ]
    return pd.DataFrame(rows).dropna(subset=["x", "y"])


def _ends(line: Mapping[str, Any], axis: str) -> dict[str, float]:
    """Without an interval it is the dot alone."""
    value = float(line["estimate"])
    low, high = (value if pd.isna(line[end]) else float(line[end]) for end in ("low", "high"))
    return {axis: value, f"{axis}_low": low, f"{axis}_high": high}


def _domain(points: pd.DataFrame, axis: str, below: float = 0.0) -> list[float]:
    """All intervals, unless they are so wide that the dots would lie on one spot: then as far
    beyond the dots as these are apart. What is so much `below` the base is always seen."""
    base = points.loc[points["method"] == BASE, axis]
    low = min([float(points[axis].min()), *(base - below)])
    high = float(points[axis].max())
    room = max(high - low, LEAST)
    ends = float(points[f"{axis}_low"].min()), float(points[f"{axis}_high"].max())
    edge = 0.15 * room
    return [min(max(ends[0], low - room), low) - edge, min(ends[1], high + room) + edge]


def _guides(alt: Any, points: pd.DataFrame, within: float, x: Any, y: Any) -> Any:
    """Through the base, and the least score that may be chosen."""
    base = points.loc[points["method"] == BASE, ["x", "y"]]
    dashed = {"strokeDash": [4, 3], "color": GREY, "opacity": 0.8, "clip": True}
    here, least = (
        alt.Data(values=each.to_dict("records"))
        for each in (base, base.assign(y=base["y"] - within))
    )
    across = alt.Chart(here).mark_rule(**dashed).encode(x=x)
    level = alt.Chart(here).mark_rule(**dashed).encode(y=y)
    bound = alt.Chart(least).mark_rule(**{**dashed, "strokeDash": [1, 3]}).encode(y=y)
    return across + level + bound


def _says(points: pd.DataFrame, score: str, name: str) -> str:
    parts = [
        f"{line['method']} {shown(line['x'])} at {score} {shown(line['y'])}"
        for line in points.to_dict("records")
    ]
    return f"{name} against {score}: {', '.join(parts)}."
