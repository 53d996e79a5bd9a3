"""Lines over layers: a mean with its bounds at each, and the same as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report.audit_numbers import DASH, bounds, shown
from heedful.report.extra import need
from heedful.report.figures.figure import Panel
from heedful.report.figures.style import HEIGHT, WIDTH

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
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=_across(alt, data["at"], axes), color=alt.Color("colour:N", scale=None)
    )
    y = alt.Y("mean:Q", title=axes.y, scale=alt.Scale(domain=[0, axes.top], nice=False))
    rules = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y="low:Q", y2="high:Q")
    line = base.mark_line(strokeWidth=1.5, opacity=0.8).encode(y=y)
    dots = base.mark_point(filled=True, size=38, opacity=1).encode(
        y=y, shape=alt.Shape("shape:N", scale=None)
    )
    return Panel(title, line + rules + dots + _mark(alt, axes), _says(title, table, roles, axes))


def number_table(table: pd.DataFrame) -> dict[str, Any]:
    """A cell for each pair of `row` and `column`, both in the order in which they come."""
    rows, columns = (list(dict.fromkeys(table[name])) for name in ("row", "column"))
    texts = {
        (line["row"], line["column"]): _with_bounds(line["mean"], line["low"], line["high"])
        for line in table.to_dict("records")
    }
    lines = [
        {"name": row, "cells": [texts.get((row, column), DASH) for column in columns]}
        for row in rows
    ]
    return {"columns": columns, "lines": lines}


def _with_bounds(mean: float, low: float, high: float) -> str:
    return f"{shown(mean)} ({bounds(low, high)})"


def _across(alt: Any, at: pd.Series, axes: Axes) -> Any:
    first, last = int(at.min()), int(at.max())
    ticks = list(range(first, last + 1, math.ceil((last - first + 1) / TICKS)))
    scale = alt.Scale(domain=[first - 0.4, last + 0.4], nice=False)
    axis = alt.Axis(values=ticks, format="d", grid=False)
    return alt.X("beside:Q", title=axes.x, scale=scale, axis=axis)


def _mark(alt: Any, axes: Axes) -> Any:
    values = [] if math.isnan(axes.mark) else [{"mean": axes.mark}]
    rule = alt.Chart(alt.Data(values=values)).mark_rule(strokeDash=[3, 3], color="#8a8f98")
    return rule.encode(y="mean:Q")


def _says(title: str, table: pd.DataFrame, roles: Roles, axes: Axes) -> str:
    parts = []
    for name, part in table.groupby("line", sort=False):
        ends = [f"{shown(each['mean'])} at {each['at']}" for each in part.to_dict("records")]
        parts.append(f"{roles[str(name)][0]}: {', '.join(ends)}")
    return f"{title} by {axes.x}; {'; '.join(parts)}."
