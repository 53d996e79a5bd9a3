"""Whose erasure flips the decision: a table of two by two (as serrano2019's Table 2)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import INK, KINDS
from heedful.report.tables import published_beside_measured
from heedful.studies import FLIPS

TITLE = "Decisions that one erasure flips (serrano2019, Table 2)"
CAPTION = (
    "Share of texts whose decision flips when the item of the largest weight is erased (rows) and "
    "when a random other one is (columns); in brackets what the paper prints, where it does. "
    "If weights told importance, no text would be where only the random one flips."
)
LEGEND = (("share of texts, %", KINDS["exact"]),)
YES, NO = "yes", "no"
CELLS = dict(zip(FLIPS, ((YES, YES), (YES, NO), (NO, YES), (NO, NO)), strict=True))
"""Does erasing the heaviest flip, does erasing the random one."""


def make(evidence: Evidence) -> Figure:
    frame = published_beside_measured(evidence, "serrano2019")
    frame = frame[frame["metric"].str.startswith("flip_percent:") & frame["measured"].notna()]
    groups = tuple(
        Group(str(dataset), LEGEND, tuple(_panels(part)))
        for dataset, part in frame.groupby("dataset", sort=False)
    )
    missing = "" if groups else "Flips by single erasures were not measured."
    return Figure("flips", TITLE, CAPTION, groups, missing)


def _panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(str(model), _panel(table(cells)), _says(str(model), cells))
        for model, cells in part.groupby("model", sort=False)
    ]


def table(cells: pd.DataFrame) -> pd.DataFrame:
    """Four cells: top, random, the per cent and its text. A substitute's are not compared."""
    names = cells["metric"].str.removeprefix("flip_percent:")
    same = ~cells["note"].str.contains("substitute")
    printed = cells["published_paper"].where(same).map(lambda value: number(value, 1))
    return pd.DataFrame(
        {
            "top": [CELLS[name][0] for name in names],
            "random": [CELLS[name][1] for name in names],
            "percent": cells["measured"].to_numpy(),
            "text": [
                f"{number(value, 1)}%" + (f" ({paper})" if paper else "")
                for value, paper in zip(cells["measured"], printed, strict=True)
            ],
        }
    )


def _panel(data: pd.DataFrame) -> Any:
    alt = need("altair")
    order = [YES, NO]
    base = alt.Chart(data, width=180, height=80).encode(
        x=alt.X(
            "random:N",
            title="the random one flips",
            sort=order,
            axis=alt.Axis(labelAngle=0, orient="top"),
        ),
        y=alt.Y("top:N", title="the heaviest flips", sort=order),
    )
    shade = alt.Opacity(
        "percent:Q", scale=alt.Scale(domain=[0, 100], range=[0.06, 0.6]), legend=None
    )
    fill = base.mark_rect(color=KINDS["exact"]).encode(opacity=shade)
    return fill + base.mark_text(fontSize=11, color=INK).encode(text="text:N")


def _says(model: str, cells: pd.DataFrame) -> str:
    parts = "; ".join(
        f"{metric.removeprefix('flip_percent:').replace('_', ' ')} {value:.1f}%"
        for metric, value in zip(cells["metric"], cells["measured"], strict=True)
    )
    return f"Decisions flipped by one erasure, {model}: {parts}."


PIECE = Piece(
    name="flips",
    description="Does erasing the heaviest item flip the decision, does erasing a random one.",
    make=make,
    paper="serrano2019, Table 2",
    needs=("flips",),
)
