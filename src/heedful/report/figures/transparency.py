"""Conicity of the attended states and attention by kind of word (mohankumar2020)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from heedful.entries import ReportFigure, by_name
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import (
    CLASSES,
    KINDS,
    LABELS,
    WIDTH,
    Figure,
    Panel,
    Words,
    by_corpus,
    painted,
)

COLOUR = KINDS["exact"]
LEGEND = (("mean over texts, 95% interval", COLOUR),)
CONICITY = Words(
    "conicity",
    "Conicity of the attended states (mohankumar2020)",
    "Mean |cosine| of a text’s states with their mean. At 1 all states lie on one line, and it "
    "hardly matters which of them is attended; states that differ give attention something to "
    "choose from.",
    "Conicity",
)


def conicity(evidence: Evidence) -> Figure:
    return by_corpus(CONICITY, conicity_table(evidence.together), LEGEND, _conicity_panels)


def conicity_table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus and model."""
    kept = together[
        (together["measure"] == "conicity")
        & (together["probe"] == "conicity")
        & (together["group"] == "all")
        & together["mean"].notna()
    ]
    return pd.DataFrame(kept[["corpus", "model", "mean", "low", "high"]])


def _conicity_panels(part: pd.DataFrame) -> list[Panel]:
    lines = part.to_dict("records")
    says = "; ".join(f"{line['model']} {line['mean']:.2f}" for line in lines)
    return [Panel("conicity", _conicity_chart(part), f"Conicity: {says}.")]


def _conicity_chart(part: pd.DataFrame) -> Any:
    alt = need("altair")
    y = alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS))
    data = part[["model", "mean", "low", "high"]]
    base = alt.Chart(data, width=WIDTH, height={"step": 20}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="conicity", scale=alt.Scale(domain=[0, 1], nice=False))

    bar = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("mean"))
    line = base.mark_rule(strokeWidth=2, color=COLOUR).encode(x=at("low"), x2="high:Q")
    return alt.layer(bar, line)


PARTS_KINDS = {
    "punctuation": ("punctuation", CLASSES[4]),
    "function": ("function words", CLASSES[1]),
    "content": ("other words", CLASSES[0]),
}
EVEN = "even attention"
PARTS = Words(
    "parts_of_speech",
    "Attention by kind of word (mohankumar2020)",
    "Share of a text’s attention on punctuation, on function words and on the others, averaged "
    "over texts. Even attention has each kind’s share of the tokens: a longer bar for other "
    "words than there is attention that looks for content. Corpora prepared without punctuation "
    "have none.",
    "Attention by kind of word",
)


def parts_of_speech(evidence: Evidence) -> Figure:
    found = parts_table(evidence.together)
    return by_corpus(PARTS, found, tuple(PARTS_KINDS.values()), _parts_panels)


def parts_table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus, model (even attention among them) and kind, with the places where its
    part of the bar begins and ends."""
    lines = []
    for corpus, cells in _measured(together).groupby("corpus", sort=False):
        for name, part in cells.groupby("model", sort=False):
            lines += _bar(str(corpus), str(name), part, "mass")
        first = cells[cells["model"] == cells["model"].iloc[0]]
        lines += _bar(str(corpus), EVEN, first, "share")
    return pd.DataFrame(lines, columns=["corpus", "model", "kind", "value", "start", "end"])


def _measured(together: pd.DataFrame) -> pd.DataFrame:
    chosen = (together["probe"] == "parts_of_speech") & (together["group"] == "all")
    return pd.DataFrame(together[chosen & together["mean"].notna()])


def _bar(corpus: str, model: str, part: pd.DataFrame, what: str) -> list[dict[str, Any]]:
    means = dict(zip(part["measure"], part["mean"], strict=True))
    lines, start = [], 0.0
    for kind in PARTS_KINDS:
        value = float(means.get(f"{what}:{kind}", 0.0))
        place = {"value": value, "start": start, "end": start + value}
        lines.append({"corpus": corpus, "model": model, "kind": kind, **place})
        start += value
    return lines


def _parts_panels(part: pd.DataFrame) -> list[Panel]:
    bars = [
        f"{model}: " + ", ".join(f"{PARTS_KINDS[k][0]} {v:.2f}" for k, v in _pairs(bar))
        for model, bar in part.groupby("model", sort=False)
    ]
    says = f"Attention by kind of word. {'; '.join(bars)}."
    return [Panel("share of attention", _parts_chart(part), says)]


def _parts_chart(part: pd.DataFrame) -> Any:
    alt = need("altair")
    colour = painted(part["kind"], PARTS_KINDS)
    data = part[["model", "value", "start", "end"]].assign(colour=colour)
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data, width=WIDTH, height={"step": 20})
    return base.mark_bar(size=12).encode(
        y=alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS)),
        x=alt.X("start:Q", title="share of attention", scale=scale),
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
    )


def _pairs(bar: pd.DataFrame) -> Iterator[tuple[str, float]]:
    return zip(bar["kind"], bar["value"], strict=True)


ENTRIES = by_name(
    ReportFigure(
        name="conicity",
        description="Conicity of the attended states, by model.",
        make=conicity,
        paper="mohankumar2020",
        needs=("conicity",),
    ),
    ReportFigure(
        name="parts_of_speech",
        description="Share of attention on punctuation, function words and the rest, by model.",
        make=parts_of_speech,
        paper="mohankumar2020",
        needs=("parts_of_speech",),
    ),
)
