"""The heaviest item against a random one: ΔJS by the difference of their weights.

Texts are many, so they are counted in a grid whose lines include zero; what is below it is
coloured apart.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import KEYS, Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words, small_multiples
from heedful.report.figures.style import INK, KINDS, WIDTH

WORDS = Words(
    "erasure",
    "The heaviest item or a random one (serrano2019, vashishth2019)",
    "Change of the output without the item of the largest weight less the change without a "
    "random other one (ΔJS), by the difference of their weights; darker: more texts. Below the "
    "dashed line the random item mattered more. If weights told importance, nothing would be "
    "below it, least of all to the right.",
    "Change of output, heaviest less random item",
)
MORE, LESS = KINDS["exact"], "#d2781a"
LEGEND = (("the heaviest matters more", MORE), ("the random one does", LESS))
ACROSS, UP = 24, 12
_HEIGHT = 150
_ROUNDING = 1e-12  # a divergence below it is none
_ROW = [*KEYS, "example", "site", "head", "query"]


def make(evidence: Evidence) -> Figure:
    rows = evidence.rows("erasure", ["js_difference", "weight_difference"])
    if len(rows):
        weights = rows[rows["measure"] == "weight_difference"].set_index(_ROW)["value"]
        rows = rows[rows["measure"] == "js_difference"]
        rows = rows.join(weights.rename("weight"), on=_ROW)
    draw = partial(_panel, step=_step(rows))
    return small_multiples(evidence, rows, WORDS, draw, LEGEND)


def cells(rows: pd.DataFrame, step: float) -> pd.DataFrame:
    """The filled cells of the grid, with their share of the fullest one."""
    value = rows["value"].to_numpy(dtype=float)
    up = np.floor(np.where(np.abs(value) < _ROUNDING, 0.0, value) / step).clip(-UP, UP - 1)
    right = np.floor(rows["weight"].to_numpy(dtype=float) * ACROSS).clip(0, ACROSS - 1)
    counts = pd.DataFrame({"right": right, "up": up}).value_counts().reset_index()
    return pd.DataFrame(
        {
            "left": counts["right"] / ACROSS,
            "right": (counts["right"] + 1) / ACROSS,
            "low": counts["up"] * step,
            "high": (counts["up"] + 1) * step,
            "shade": 0.12 + 0.88 * np.sqrt(counts["count"] / counts["count"].max()),
            "texts": counts["count"],
            "colour": np.where(counts["up"] < 0, LESS, MORE),
        }
    ).sort_values(["left", "low"], ignore_index=True)


def _step(rows: pd.DataFrame) -> float:
    """One scale for all panels; the highest value is in the last cell."""
    values = rows["value"].to_numpy(dtype=float) if len(rows) else np.zeros(0)
    finite = np.abs(values[np.isfinite(values)])
    return max(1e-3, 1.0001 * float(finite.max(initial=0.0)) / UP)


def _panel(rows: pd.DataFrame, step: float) -> Any:
    alt = need("altair")
    domain = [-UP * step, UP * step]
    y = alt.Y("low:Q", title="ΔJS", scale=alt.Scale(domain=domain, nice=False))
    x = alt.X("left:Q", title="difference of weights", scale=alt.Scale(domain=[0, 1], nice=False))
    grid = (
        alt.Chart(cells(rows, step), width=WIDTH, height=_HEIGHT)
        .mark_rect()
        .encode(
            x=x,
            x2="right:Q",
            y=y,
            y2="high:Q",
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("shade:Q", scale=None),
        )
    )
    zero = alt.Chart(alt.Data(values=[{"low": 0}])).mark_rule(strokeDash=[3, 3], color="#8a8f98")
    below = float((rows["value"] < -_ROUNDING).mean())
    words = alt.Chart(alt.Data(values=[{"text": f"{100 * below:.1f}% below (n {len(rows):,})"}]))
    words = words.mark_text(align="right", fontSize=10, color=INK, dy=-4)
    place = {"x": alt.value(WIDTH), "y": alt.value(_HEIGHT - 2)}
    return grid + zero.encode(y=alt.Y("low:Q")) + words.encode(text="text:N", **place)


PIECE = Piece(
    name=WORDS.name,
    description="ΔJS of the heaviest and a random item, by the difference of their weights.",
    make=make,
    paper="serrano2019",
    needs=("erasure",),
)
