"""τ by length of text: the reading that a significant fraction cannot give."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import KINDS, WIDTH
from heedful.studies import dataset_name

MEASURES = {
    "tau_gradient": ("attention × gradients", KINDS["exact"]),
    "tau_loo": ("attention × leaving out", KINDS["search"]),
    "tau_gradient_loo": ("gradients × leaving out", "#8a8f98"),
}
TITLE = "Agreement by length of text"
CAPTION = (
    "Average τ with its 95% interval in the four quarters of text length, shortest first. "
    "Grey: how far gradients and leaving out agree with each other."
)


def make(evidence: Evidence) -> Figure:
    table = evidence.together
    kept = table[
        table["measure"].isin(list(MEASURES))
        & table["group"].str.startswith("length=")
        & table["mean"].notna()
    ]
    if kept.empty:
        missing = "τ by length was not measured."
        return Figure("tau_length", TITLE, CAPTION, (), missing)
    legend = tuple(MEASURES.values())
    groups = tuple(
        Group(dataset_name(str(corpus)), legend, tuple(_panels(part)))
        for corpus, part in kept.groupby("corpus", sort=False)
    )
    return Figure("tau_length", TITLE, CAPTION, groups)


def _panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(str(model), _panel(cell), f"Average τ by length for {model}.")
        for model, cell in part.groupby("model", sort=False)
    ]


def _panel(cell: pd.DataFrame) -> Any:
    alt = need("altair")
    data = pd.DataFrame(
        {
            "quarter": cell["group"].str.removeprefix("length="),
            "colour": cell["measure"].map({name: pair[1] for name, pair in MEASURES.items()}),
            **{name: cell[name] for name in ("mean", "low", "high")},
        }
    )
    scale = alt.Scale(domain=[min(0.0, float(data["low"].min())), 1.0])
    base = alt.Chart(data, width=WIDTH, height=130).encode(
        x=alt.X("quarter:N", title="quarter of length", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    rules = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return rules + line.encode(y=alt.Y("mean:Q", title="average τ", scale=scale))


PIECE = Piece(
    name="tau_length",
    description="Average τ in the four quarters of text length, with intervals.",
    make=make,
    needs=("correlation",),
)
