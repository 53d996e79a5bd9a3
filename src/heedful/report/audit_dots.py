"""The positions of explanations as dots with bounds, and the same as numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.report.audit_numbers import DASH, bounds, plain, shown
from heedful.report.audit_positions import Positions
from heedful.report.extra import need
from heedful.report.figures.figure import Panel
from heedful.report.figures.style import KINDS

ROLES = {
    "trial": ("on trial", KINDS["matched"], "diamond"),
    "best": ("recommended", KINDS["exact"], "square"),
    "other": ("others", "#8a8f98", "circle"),
}
REACH = (-0.6, 1.4)
LABELS = 128
"""Pixels for the names of explanations."""


def dot_domain(found: list[Positions]) -> tuple[float, float]:
    """One axis for all panels, from below the floor to above the ceiling."""
    columns = [one.table[name] for one in found for name in ("low", "high", "position")]
    values = pd.concat([*columns, pd.Series([0.0, 1.0])]).dropna().clip(*REACH)
    return float(values.min()) - 0.04, float(values.max()) + 0.04


def dot_plot(one: Positions, order: list[str], domain: tuple[float, float]) -> Panel:
    """Names down, position across; shapes and colours both say who is who. An explanation
    that this operator made keeps its line, empty."""
    alt = need("altair")
    table = one.table.assign(
        label=one.table["explanation"].map(plain),
        from_=one.table["low"].clip(*REACH),
        to=one.table["high"].clip(*REACH),
        dot=one.table["position"].clip(*REACH),
        colour=one.table["role"].map(lambda role: ROLES[role][1]),
        shape=one.table["role"].map(lambda role: ROLES[role][2]),
    )
    names = [plain(name) for name in order]
    y = alt.Y(
        "label:N",
        scale=alt.Scale(domain=names),
        title=None,
        axis=alt.Axis(labelLimit=LABELS, minExtent=LABELS, grid=True),
    )
    scale = alt.Scale(domain=list(domain), nice=False)
    axis = alt.Axis(values=[-0.5, 0, 0.5, 1], format=".1f", grid=False)
    base = alt.Chart(table, width=230, height=17 * len(names))
    colour = alt.Color("colour:N", scale=None)
    x = alt.X("dot:Q", title="0: random, 1: best found", scale=scale, axis=axis)
    reach = base.mark_rule(strokeWidth=2.5, opacity=0.6).encode(
        y=y, x=alt.X("from_:Q", scale=scale), x2="to:Q", color=colour
    )
    dots = base.mark_point(filled=True, size=62, opacity=1).encode(
        y=y, x=x, color=colour, shape=alt.Shape("shape:N", scale=None)
    )
    return Panel(one.title, _ends(alt) + reach + dots, _says(one))


def dot_rows(found: list[Positions], order: list[str]) -> dict[str, Any]:
    """The numbers of the dots, for those who would rather read them."""
    tables = [one.table.set_index("explanation") for one in found]
    lines = [
        {"name": plain(name), "cells": [_cell(table, name) for table in tables]} for name in order
    ]
    return {"columns": [one.title for one in found], "lines": lines}


def _cell(table: pd.DataFrame, name: str) -> str:
    if name not in table.index:
        return DASH
    line = table.loc[name]
    return f"{shown(line['position'])} ({bounds(line['low'], line['high'])})"


def _ends(alt: Any) -> Any:
    data = alt.Data(values=[{"dot": 0}, {"dot": 1}])
    return alt.Chart(data).mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="dot:Q")


def _says(one: Positions) -> str:
    ranked = one.table.sort_values("position", ascending=False, kind="stable")
    parts = [
        f"{plain(str(name))} {shown(value)}"
        for name, value in zip(ranked["explanation"], ranked["position"], strict=True)
    ]
    return f"{one.title}, from a random order, 0, to the best found, 1: {', '.join(parts)}."
