"""Conicity of the attended states and attention by kind of word (mohankumar2020)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import CLASSES, KINDS, LABELS, WIDTH, Figure, Group, Panel
from heedful.studies import dataset_name

COLOUR = KINDS["exact"]
LEGEND = (("mean over texts, 95% interval", COLOUR),)
CONICITY_TITLE = "Conicity of the attended states (mohankumar2020)"
CONICITY_CAPTION = (
    "Mean |cosine| of a text’s states with their mean. At 1 all states lie on one line, and it "
    "hardly matters which of them is attended; states that differ give attention something to "
    "choose from."
)


def conicity(evidence: Evidence) -> Figure:
    found = conicity_table(evidence.together)
    groups = tuple(
        Group(
            dataset_name(str(corpus)),
            LEGEND,
            (Panel("conicity", _conicity_panel(part), _conicity_says(part)),),
        )
        for corpus, part in found.groupby("corpus", sort=False)
    )
    missing = "" if groups else "Conicity was not measured."
    return Figure("conicity", CONICITY_TITLE, CONICITY_CAPTION, groups, missing)


def conicity_table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus and model."""
    kept = together[
        (together["measure"] == "conicity")
        & (together["probe"] == "conicity")
        & (together["group"] == "all")
        & together["mean"].notna()
    ]
    return pd.DataFrame(kept[["corpus", "model", "mean", "low", "high"]])


def _conicity_panel(part: pd.DataFrame) -> Any:
    alt = need("altair")
    y = alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS))
    data = part[["model", "mean", "low", "high"]]
    base = alt.Chart(data, width=WIDTH, height={"step": 20}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="conicity", scale=alt.Scale(domain=[0, 1], nice=False))

    bar = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("mean"))
    line = base.mark_rule(strokeWidth=2, color=COLOUR).encode(x=at("low"), x2="high:Q")
    return alt.layer(bar, line)


def _conicity_says(part: pd.DataFrame) -> str:
    lines = part.to_dict("records")
    return "Conicity: " + "; ".join(f"{line['model']} {line['mean']:.2f}" for line in lines) + "."


WORDS_KINDS = {
    "punctuation": ("punctuation", CLASSES[4]),
    "function": ("function words", CLASSES[1]),
    "content": ("other words", CLASSES[0]),
}
EVEN = "even attention"
WORDS_TITLE = "Attention by kind of word (mohankumar2020)"
WORDS_CAPTION = (
    "Share of a text’s attention on punctuation, on function words and on the others, averaged "
    "over texts. Even attention has each kind’s share of the tokens: a longer bar for other "
    "words than there is attention that looks for content. Corpora prepared without punctuation "
    "have none."
)


def parts_of_speech(evidence: Evidence) -> Figure:
    found = words_table(evidence.together)
    groups = tuple(
        Group(
            dataset_name(str(corpus)),
            tuple(WORDS_KINDS.values()),
            (Panel("share of attention", _words_panel(part), _words_says(part)),),
        )
        for corpus, part in found.groupby("corpus", sort=False)
    )
    missing = "" if groups else "Attention by kind of word was not measured."
    return Figure("parts_of_speech", WORDS_TITLE, WORDS_CAPTION, groups, missing)


def words_table(together: pd.DataFrame) -> pd.DataFrame:
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
    for kind in WORDS_KINDS:
        value = float(means.get(f"{what}:{kind}", 0.0))
        place = {"value": value, "start": start, "end": start + value}
        lines.append({"corpus": corpus, "model": model, "kind": kind, **place})
        start += value
    return lines


def _words_panel(part: pd.DataFrame) -> Any:
    alt = need("altair")
    colours = {kind: colour for kind, (_, colour) in WORDS_KINDS.items()}
    data = part[["model", "value", "start", "end"]].assign(colour=part["kind"].map(colours))
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data, width=WIDTH, height={"step": 20})
    return base.mark_bar(size=12).encode(
        y=alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS)),
        x=alt.X("start:Q", title="share of attention", scale=scale),
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
    )


def _words_says(part: pd.DataFrame) -> str:
    bars = [
        f"{model}: " + ", ".join(f"{WORDS_KINDS[str(k)][0]} {v:.2f}" for k, v in _pairs(bar))
        for model, bar in part.groupby("model", sort=False)
    ]
    return f"Attention by kind of word. {'; '.join(bars)}."


def _pairs(bar: pd.DataFrame) -> list[tuple[Any, Any]]:
    return list(zip(bar["kind"], bar["value"], strict=True))


PIECES = (
    Piece(
        name="conicity",
        description="Conicity of the attended states, by model.",
        make=conicity,
        paper="mohankumar2020",
        needs=("conicity",),
    ),
    Piece(
        name="parts_of_speech",
        description="Share of attention on punctuation, function words and the rest, by model.",
        make=parts_of_speech,
        paper="mohankumar2020",
        needs=("parts_of_speech",),
    ),
)
