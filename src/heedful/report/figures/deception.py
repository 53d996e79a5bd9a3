"""Accuracy, and attention on impermissible tokens, as the penalty grows (pruthi2020)."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import HEIGHT, KINDS, WIDTH
from heedful.studies import dataset_name

LINES = {
    "accuracy": ("accuracy", KINDS["search"]),
    "accuracy:control": ("accuracy, never shown the tokens", KINDS["matched"]),
    "mass": ("attention on the tokens", KINDS["exact"]),
}
TITLE = "Attention kept off the tokens a model needs (pruthi2020)"
CAPTION = (
    "Share of right decisions and share of attention on impermissible tokens, each with its 95% "
    "interval, by λ, the weight of the penalty in training; λ = 0 is the honest model. Attention "
    "that falls to nothing while accuracy stays shows that attention can be made to hide what a "
    "model relies on, where a model that was never shown these tokens is worse. For generation, "
    "the next word after a quarter of the target."
)
TERM = re.compile(r"\+impermissible([0-9.e+-]*[0-9])")


def make(evidence: Evidence) -> Figure:
    table = by_weight(evidence.together)
    groups = tuple(
        Group(dataset_name(str(corpus)), tuple(LINES.values()), tuple(_panels(part)))
        for corpus, part in table.groupby("corpus", sort=False)
    )
    missing = "" if groups else "Attention on impermissible tokens was not measured."
    return Figure("deception", TITLE, CAPTION, groups, missing)


def by_weight(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus, model without its penalty (`stem`), `weight` and measure."""
    cells = together[
        (together["probe"] == "deception")
        & (together["group"] == "all")
        & together["measure"].isin(list(LINES))
        & together["mean"].notna()
    ]
    names = cells["model"].astype(str)
    return cells.assign(stem=names.map(stem), weight=names.map(weight))


def stem(model: str) -> str:
    """A model's name without the penalty."""
    return TERM.sub("", model)


def weight(model: str) -> float:
    """λ, by the model's name."""
    found = TERM.search(model)
    return float(found.group(1)) if found else 0.0


def _panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(str(model), _panel(cell), _says(str(model), cell))
        for model, cell in part.groupby("stem", sort=False)
    ]


def _panel(cell: pd.DataFrame) -> Any:
    alt = need("altair")
    colours = {measure: colour for measure, (_, colour) in LINES.items()}
    data = cell[["weight", "mean", "low", "high"]].assign(colour=cell["measure"].map(colours))
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("weight:O", title="λ", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.6)
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    y = alt.Y("mean:Q", title="share", scale=scale)
    return rules.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q") + line.encode(y=y)


def _says(model: str, cell: pd.DataFrame) -> str:
    parts = []
    for value, lines in cell.sort_values("weight").groupby("weight"):
        means = dict(zip(lines["measure"], lines["mean"], strict=True))
        shown = [f"{LINES[name][0]} {means[name]:.2f}" for name in LINES if name in means]
        parts.append(f"λ = {value:g}: {', '.join(shown)}")
    return f"{model}, {'; '.join(parts)}."


PIECE = Piece(
    name="deception",
    description="Accuracy and attention on impermissible tokens by the penalty's weight.",
    make=make,
    paper="pruthi2020",
    needs=("deception",),
)
