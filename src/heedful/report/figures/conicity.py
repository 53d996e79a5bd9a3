"""How narrow the cone is that a text's states lie in, by model (mohankumar2020)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import KINDS, LABELS, WIDTH
from heedful.studies import dataset_name

COLOUR = KINDS["exact"]
LEGEND = (("mean over texts, 95% interval", COLOUR),)
TITLE = "Conicity of the attended states (mohankumar2020)"
CAPTION = (
    "Mean |cosine| of a text’s states with their mean. At 1 all states lie on one line, and it "
    "hardly matters which of them is attended; states that differ give attention something to "
    "choose from."
)


def make(evidence: Evidence) -> Figure:
    found = table(evidence.together)
    groups = tuple(
        Group(dataset_name(str(corpus)), LEGEND, (Panel("conicity", _panel(part), _says(part)),))
        for corpus, part in found.groupby("corpus", sort=False)
    )
    missing = "" if groups else "Conicity was not measured."
    return Figure("conicity", TITLE, CAPTION, groups, missing)


def table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus and model."""
    kept = together[
        (together["measure"] == "conicity")
        & (together["probe"] == "conicity")
        & (together["group"] == "all")
        & together["mean"].notna()
    ]
    return pd.DataFrame(kept[["corpus", "model", "mean", "low", "high"]])


def _panel(part: pd.DataFrame) -> Any:
    alt = need("altair")
    y = alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS))
    data = part[["model", "mean", "low", "high"]]
    base = alt.Chart(data, width=WIDTH, height={"step": 20}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="conicity", scale=alt.Scale(domain=[0, 1], nice=False))

    bar = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("mean"))
    line = base.mark_rule(strokeWidth=2, color=COLOUR).encode(x=at("low"), x2="high:Q")
    return alt.layer(bar, line)


def _says(part: pd.DataFrame) -> str:
    lines = part.to_dict("records")
    return "Conicity: " + "; ".join(f"{line['model']} {line['mean']:.2f}" for line in lines) + "."


PIECE = Piece(
    name="conicity",
    description="Conicity of the attended states, by model.",
    make=make,
    paper="mohankumar2020",
    needs=("conicity",),
)
