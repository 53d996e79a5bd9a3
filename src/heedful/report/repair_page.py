"""The page of a repair: what is gained, what it costs, the picture and the table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from heedful.report.charts import Charts, render
from heedful.report.formats import DASH, bounds, plain, shown
from heedful.report.panels import CLASSES, KINDS, Figure, Group, Panel
from heedful.report.sheet import Sheet, need
from heedful.verdict import QUESTIONS

CAREFUL = (
    "The model was chosen by the texts that are shown here, so its numbers are a little too good: "
    "audit it on other texts before relying on it.",
)
FEW = 3


def repair_page(parts: Mapping[str, Any]) -> str:
    """The HTML. `parts` are a repair's table, methods and facts as plain values."""
    table, facts = parts["table"], parts["facts"]
    score, *properties = quantities(table)
    sheet, charts = Sheet(), Charts()
    drawn = charts.draw_all(panels(table, facts["within"]), "repair")
    charts.finish(sheet)
    return sheet.render(
        "repair.html",
        sentence=parts["sentence"],
        chosen=parts["chosen"],
        scope=scope(facts),
        careful=careful(facts),
        load=parts["load"],
        facts=facts,
        score=named(score),
        level=f"{100 * (1 - facts['alpha']):.3g}%",
        roles=roles(table),
        panels=drawn,
        columns=[named(name) for name in (score, *properties)],
        questions=[(named(name), QUESTIONS.get(name, "")) for name in properties],
        lines=lines(table, parts["chosen"]),
        unmeasured=[(named(name), why) for name, why in unmeasured(table)],
        methods=parts["methods"],
    )


def repair_svg(parts: Mapping[str, Any]) -> str:
    """The picture alone."""
    return render(figure(parts["table"], parts["facts"]["within"]).spec())


def scope(facts: Mapping[str, Any]) -> list[str]:
    seeds = len(facts["seeds"])
    return [
        f"{facts['corpus']}",
        f"base model {facts['base']}",
        f"{seeds} seed{'s' * (seeds != 1)} of each model",
        f"{facts['texts']} texts of the test split audited",
    ]


def careful(facts: Mapping[str, Any]) -> list[str]:
    """What a reader must know before believing the picture."""
    seeds, found = len(facts["seeds"]), list(CAREFUL)
    if seeds == 1:
        found.insert(
            0,
            "Each model was trained once: there is no interval over seeds, all intervals are over "
            "texts alone, and another seed may turn the order round.",
        )
    elif seeds < FEW:
        found.insert(0, f"With {seeds} seeds intervals over seeds are very wide: more seeds help.")
    if facts["low"] <= facts["majority"]:
        found.insert(
            0,
            f"The base model's {facts['score']} is not clearly above that of always guessing the "
            f"commonest class ({facts['majority']:.2f}): it has learned next to nothing, and what "
            f"its attention does means little.",
        )
    if facts["width"] is not None:
        found.append(
            f"Some methods need states as wide as the embeddings ({facts['width']} numbers), so "
            f"all models have them, the base too (hidden size {facts['hidden']})."
        )
    return found


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
        + base.mark_point(filled=True, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("shape:N", scale=None),
            size=alt.Size("size:Q", scale=None),
        )
    )
    return Panel(named(name), chart, _says(points, named(score), named(name)))


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


def _ends(line: Line, axis: str) -> dict[str, float]:
    """Without an interval it is the dot alone."""
    value = float(line["estimate"])
    found = {axis: value}
    for end in ("low", "high"):
        found[f"{axis}_{end}"] = value if pd.isna(line[end]) else float(line[end])
    return found


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


NAMES = {"accuracy": "accuracy", "f1": "F1", "roc_auc": "ROC-AUC"}
BASE = "base"
Line = Mapping[Hashable, Any]


def quantities(table: pd.DataFrame) -> list[str]:
    """The score first, then the properties that were measured on some model."""
    known = table[table["estimate"].notna()]
    return [str(name) for name in dict.fromkeys(known["quantity"])]


def unmeasured(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Properties that no model has, each with the reason."""
    there = quantities(table)
    missing = table[~table["quantity"].isin(there)].drop_duplicates("quantity")
    pairs = zip(missing["quantity"], missing["note"], strict=True)
    return [(str(name), str(why) or "not measured") for name, why in pairs]


def named(quantity: str) -> str:
    return NAMES.get(quantity, plain(quantity))


def lines(table: pd.DataFrame, chosen: str) -> list[dict[str, Any]]:
    """One line per method, a cell per quantity."""
    columns = quantities(table)
    return [
        {
            "method": method,
            "tags": ["chosen"] if method == chosen else [],
            "cells": [_cell(part[quantity]) for quantity in columns],
        }
        for method, part in by_method(table).items()
    ]


def table_cells(table: pd.DataFrame, chosen: str) -> list[list[str]]:
    """The same for a terminal, with a heading; `*` marks what is dominated."""
    rows = [["method", *(named(name) for name in quantities(table))]]
    for line in lines(table, chosen):
        name = " ".join([line["method"], *(f"({tag})" for tag in line["tags"])])
        rows.append([name, *(_joined(cell) for cell in line["cells"])])
    return rows


def by_method(table: pd.DataFrame) -> dict[str, dict[str, Line]]:
    """The lines of the table by method and quantity."""
    return {
        str(method): {str(line["quantity"]): line for line in part.to_dict("records")}
        for method, part in table.groupby("method", sort=False)
    }


def _cell(line: Line) -> dict[str, str]:
    if math.isnan(line["estimate"]):
        return {"value": DASH, "bounds": "", "by": "", "title": str(line["note"])}
    by = str(line["dominated_by"])
    return {
        "value": shown(line["estimate"]),
        "bounds": bounds(line["low"], line["high"]),
        "by": by,
        "title": f"dominated by {by}" if by else "",
    }


def _joined(cell: Mapping[str, str]) -> str:
    inside = f" ({cell['bounds']})" if cell["bounds"] else ""
    return f"{cell['value']}{'*' * bool(cell['by'])}{inside}"
