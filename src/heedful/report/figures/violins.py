"""Densities in four bins of the largest attention weight, class 0 above its line, 1 below.

A density is drawn from five texts up; fewer are shown one by one, since a smooth curve over
two texts would be made up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from heedful.report.extra import need
from heedful.report.figures.style import WIDTH, class_colour

BINS = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")
FEWEST = 5
_POINTS = 61
_OUTLINE = ("what", "x", "height", "base", "edge", "bin", "colour", "series")
_TALL = 0.44
_FLAT = 0.004  # below this share of the peak nothing can be seen


def densities(rows: pd.DataFrame, high: float) -> pd.DataFrame:
    """Outlines: x, the bin's line (`base`) and the curve (`edge`), per bin and class."""
    parts = []
    for place, label, part in _parts(rows):
        if len(part) < FEWEST:
            continue
        x, curve = _density(part["value"].to_numpy(dtype=float), high)
        x, curve = x[curve > _FLAT], curve[curve > _FLAT]
        side = _side(label)
        outline = pd.DataFrame({"what": "density", "x": x, "height": curve, "base": float(place)})
        outline = outline.assign(edge=place + side * _TALL * curve, bin=BINS[place])
        parts.append(outline.assign(colour=class_colour(label), series=f"{place}/{label}"))
    empty = pd.DataFrame(columns=list(_OUTLINE))
    return pd.concat(parts, ignore_index=True) if parts else empty


def violins(rows: pd.DataFrame, title: str, high: float, mark: bool = False) -> Any:
    """A panel; `rows` has value, predicted and max_weight per line; `high` bounds the values
    and is marked if asked for."""
    alt = need("altair")
    x = alt.X("x:Q", title=title, scale=alt.Scale(domain=[0, high * 1.03], nice=False))
    y = alt.Y(
        "base:Q",
        title="largest weight",
        scale=alt.Scale(domain=[-0.55, 3.55], nice=False),
        axis=alt.Axis(values=[0, 1, 2, 3], labelExpr=_labels(), grid=False, titlePadding=8),
    )
    colour = alt.Color("colour:N", scale=None)
    layers = [
        alt.Chart(densities(rows, high), width=WIDTH, height=180)
        .mark_area(opacity=0.6, line={"strokeWidth": 1.2})
        .encode(x=x, y=y, y2="edge:Q", color=colour, detail="series:N"),
        alt.Chart(_few(rows)).mark_tick(thickness=2, size=12).encode(x=x, y=y, color=colour),
        alt.Chart(_medians(rows))
        .mark_point(filled=True, size=36, stroke="white", strokeWidth=1, opacity=1)
        .encode(x=x, y=alt.Y("edge:Q"), color=colour),
        alt.Chart(_counts(rows))
        .mark_text(align="left", fontSize=9)
        .encode(x=alt.value(WIDTH + 4), y=y, text="text:N"),
    ]
    if mark:
        rule = alt.Chart(alt.Data(values=[{"x": high}]))
        layers.append(rule.mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="x:Q"))
    return alt.layer(*layers)


def _labels() -> str:
    names = ", ".join(f"'{name}'" for name in BINS)
    return f"[{names}][datum.value]"


def _cut(rows: pd.DataFrame) -> pd.DataFrame:
    weight = rows["max_weight"].to_numpy(dtype=float)
    place = np.clip(np.floor(np.nan_to_num(weight) * len(BINS)), 0, len(BINS) - 1).astype(int)
    return rows.assign(bin=place)


def _parts(rows: pd.DataFrame) -> list[tuple[int, int, pd.DataFrame]]:
    """The rows of each bin and predicted class."""
    groups: Any = _cut(rows).groupby(["bin", "predicted"])
    return [(int(place), int(label), part) for (place, label), part in groups]


def _side(label: int) -> int:
    return 1 if label % 2 == 0 else -1


def _density(values: np.ndarray, high: float) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel reflected at both ends, scaled to a peak of 1."""
    width = max(0.02 * high, 1.06 * float(values.std()) * len(values) ** -0.2)
    x = np.linspace(0, high, _POINTS)
    counts, edges = np.histogram(np.clip(values, 0, high), np.linspace(0, high, 401))
    centres = (edges[:-1] + edges[1:]) / 2
    mirrored = np.concatenate([-centres, centres, 2 * high - centres])
    weights = np.tile(counts, 3)
    curve = np.exp(-0.5 * ((x[:, None] - mirrored[None, :]) / width) ** 2) @ weights
    return x, curve / max(curve.max(), 1e-12)


def _few(rows: pd.DataFrame) -> pd.DataFrame:
    lines = [
        {
            "what": "one text",
            "x": value,
            "base": place + 0.16 * _side(label),
            "bin": BINS[place],
            "colour": class_colour(label),
        }
        for place, label, part in _parts(rows)
        if len(part) < FEWEST
        for value in part["value"]
    ]
    return pd.DataFrame(lines, columns=["what", "x", "base", "bin", "colour"])


def _medians(rows: pd.DataFrame) -> pd.DataFrame:
    lines = [
        {
            "what": f"median of {len(part):,} values",
            "x": float(part["value"].median()),
            "edge": place + 0.1 * _side(label),
            "bin": BINS[place],
            "colour": class_colour(label),
        }
        for place, label, part in _parts(rows)
        if len(part) >= FEWEST
    ]
    return pd.DataFrame(lines, columns=["what", "x", "edge", "bin", "colour"])


def _counts(rows: pd.DataFrame) -> pd.DataFrame:
    sizes = _cut(rows).groupby("bin").size()
    return pd.DataFrame({"base": sizes.index, "text": [f"n {size:,}" for size in sizes]})
