"""The score as attention is permuted layer after layer (vashishth2019, self-attention)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import HEIGHT, KINDS, WIDTH
from heedful.report.stacks import curves
from heedful.studies import dataset_name

ENDS = {
    "first": ("from the first layer on", KINDS["exact"]),
    "last": ("from the last layer on", KINDS["search"]),
}
TITLE = "Attention permuted layer after layer (vashishth2019)"
CAPTION = (
    "The task’s score with its 95% interval when attention is permuted in so many layers of one "
    "group. A curve that falls at once: the group’s attention is needed in that layer already. "
    "Attention of later layers is computed anew from what the permuted ones give."
)


def make(evidence: Evidence) -> Figure:
    table = curves(evidence.together)
    table = table[table["mean"].notna()]
    groups = tuple(
        Group(dataset_name(str(corpus)), tuple(ENDS.values()), tuple(_panels(part)))
        for corpus, part in table.groupby("corpus", sort=False)
    )
    missing = "" if groups else "The score under permuted layers was not measured."
    return Figure("layers", TITLE, CAPTION, groups, missing)


def _panels(part: pd.DataFrame) -> list[Panel]:
    top = 1.05 * float(part[["mean", "high"]].max().max())
    return [
        Panel(f"{model} · {group}", _panel(cell, top), _says(str(model), str(group), cell))
        for (model, group), cell in part.groupby(["model", "group"], sort=False)
    ]


def _panel(cell: pd.DataFrame, top: float) -> Any:
    alt = need("altair")
    colours = {end: colour for end, (_, colour) in ENDS.items()}
    data = cell[["count", "mean", "low", "high"]].assign(colour=cell["end"].map(colours))
    scale = alt.Scale(domain=[0, max(top, 1e-6)], nice=False)
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("count:O", title="layers permuted", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.6)
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    y = alt.Y("mean:Q", title="score", scale=scale)
    return rules.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q") + line.encode(y=y)


def _says(model: str, group: str, cell: pd.DataFrame) -> str:
    first = cell[cell["end"] == "first"]["mean"]
    return (
        f"Score of {model}, layers of {group} permuted from the first on: "
        f"{first.iloc[0]:.2f} with none, {first.iloc[-1]:.2f} with all {len(first) - 1}."
    )


PIECE = Piece(
    name="layers",
    description="The score after permuting the first or last so many layers, by group.",
    make=make,
    paper="vashishth2019",
    needs=("layers",),
)
