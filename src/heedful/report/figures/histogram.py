"""Overlaid histograms: one filled step per series, each adding up to 100%."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.extra import need
from heedful.report.figures.style import HEIGHT, INK, WIDTH


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


def highest(rows: pd.DataFrame, axis: Axis) -> float:
    """The tallest bar of all panels, so that they can share one scale."""
    finite = rows[np.isfinite(rows["value"].to_numpy(dtype=float))]
    panels = finite.groupby(["corpus", "label"], sort=False)
    return max((float(shares(part, axis)["share"].max()) for _, part in panels), default=1.0)


def histogram(rows: pd.DataFrame, axis: Axis, top: float) -> Any:
    """A panel; `rows` has a value and a colour per line, `top` is the highest share drawn."""
    alt = need("altair")
    table = shares(rows, axis)
    domain = [axis.low, axis.high + axis.room]
    x = alt.X("left:Q", title=axis.title, scale=alt.Scale(domain=domain, nice=False))
    y = alt.Y(
        "share:Q",
        title="share of texts",
        axis=alt.Axis(format=".0%", tickCount=4),
        scale=alt.Scale(domain=[0, 1.12 * top], nice=False),
    )
    colour = alt.Color("colour:N", scale=None)
    base = alt.Chart(table, width=WIDTH, height=HEIGHT)
    bars = base.mark_rect(opacity=0.42).encode(
        x=x, x2="right:Q", y=y, y2=alt.value(HEIGHT), color=colour
    )
    tops = base.mark_rule(strokeWidth=2).encode(x=x, x2="right:Q", y=y, color=colour)
    return bars + tops.transform_filter("datum.share > 0") + _mark(alt, axis)


def _mark(alt: Any, axis: Axis) -> Any:
    data = alt.Data(values=[{"left": axis.mark, "text": axis.mark_text}])
    base = alt.Chart(data)
    rule = base.mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="left:Q")
    words = base.mark_text(align="right", dx=-4, y=6, fontSize=10, color=INK)
    return rule + words.encode(x="left:Q", text="text:N")
