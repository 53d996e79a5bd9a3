"""What models of two texts lose without attention, with and without the query in the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, difference, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    BASIS,
    ROWS,
    Evidence,
    Finding,
    Table,
    Told,
    backed,
    basis,
    counted,
    directed,
    measured,
    points,
    sentence,
    some_of,
    titled,
)

PAPER, PROBE = "vashishth2019", "substitution"
DECODERS = {
    "bahdanau": "pair-bilstm-additive-query",
    "rocktaschel": "pair-conditional-additive-query",
}
"""The model whose decoder sees the attended text alone → the one that also sees the query."""
NAMES = {"bahdanau": "LSTM", "rocktaschel": "conditional LSTM"}
EDITS = {
    "delta:uniform:infer": "uniform weights after training",
    "delta:permute:infer": "permuted weights after training",
    "delta:uniform:train+infer": "uniform weights in training too",
}
HEAD = (
    "score change, question not in the decoder (points)",
    "score change, question in the decoder (points)",
    "larger loss",
)
WITHOUT, WITH = "decoder sees the attended text alone", "decoder sees the question too"


@dataclass(frozen=True)
class Pair:
    """The same change of the score under two decoders."""

    title: str
    edit: str
    without: pd.DataFrame
    with_: pd.DataFrame

    @property
    def apart(self) -> Estimate:
        """Below zero where more is lost without the query."""
        return difference(self.without, self.with_)


def tell(evidence: Evidence) -> Told | None:
    pairs = list(_pairs(evidence))
    if not pairs:
        return None
    models = tuple(name for both in DECODERS.items() for name in both)
    backing = backed(ROWS, paper=PAPER, probe=PROBE, model=models, measure=tuple(EDITS))
    head = ("model and corpus", "attention replaced by", *HEAD, *BASIS)
    table = Table(head, tuple(_line(pair) for pair in pairs))
    return Told(_answer(pairs), _picture(pairs), (table,), (backing,), _still(pairs))


def _pairs(evidence: Evidence) -> Iterator[Pair]:
    found = {
        (place.corpus, place.size, place.model): part
        for place, part in evidence.places(PAPER, PROBE)
    }
    for (corpus, size, model), part in found.items():
        other = found.get((corpus, size, DECODERS.get(model, "")))
        for measure, words in EDITS.items():
            lines = [measured(each, measure) for each in (part, other) if each is not None]
            if len(lines) == 2 and all(len(each) for each in lines):
                yield Pair(titled(NAMES[model], corpus, size), words, *lines)


def _line(pair: Pair) -> tuple[str, ...]:
    without, with_ = estimate(pair.without), estimate(pair.with_)
    larger = directed(pair.apart, "with the question", "without it", "cannot be told")
    return (pair.title, pair.edit, points(without), points(with_), larger, *basis(without))


def _answer(pairs: list[Pair]) -> str:
    """For which models every replacement costs more without the question, by the intervals."""
    titles = list(dict.fromkeys(pair.title for pair in pairs))
    costly = [
        title for title in titles if all(one.apart.sign < 0 for one in pairs if one.title == title)
    ]
    if not costly:
        return sentence(
            "not clearly: no model loses more under every replacement when its decoder cannot see "
            "the question"
        )
    head = "yes" if costly == titles else "clearly only"
    names = (
        some_of(costly, titles)
        if len(costly) < 3
        else f"{counted(len(costly))} of {counted(len(titles))} models"
    )
    return sentence(
        f"{head} for {names}: every replacement costs more when the decoder cannot see the question"
    )


def _still(pairs: list[Pair]) -> tuple[str, ...]:
    """What is lost although the question has another way in."""
    titles = list(dict.fromkeys(pair.title for pair in pairs))
    lost = [
        title
        for title in titles
        if all(estimate(one.with_).sign < 0 for one in pairs if one.title == title)
    ]
    return (
        sentence(
            "with the question in the decoder, every replacement still clearly costs score for "
            f"{some_of(lost, titles) if lost else 'no model'}"
        ),
    )


def _picture(pairs: list[Pair]) -> Picture:
    panels = tuple(
        Panel(
            f"{edit[0].upper()}{edit[1:]}",
            "change of the score, points",
            tuple(
                Row(pair.title, ((WITHOUT, estimate(pair.without)), (WITH, estimate(pair.with_))))
                for pair in pairs
                if pair.edit == edit
            ),
            scale=100.0,
        )
        for edit in EDITS.values()
        if any(pair.edit == edit for pair in pairs)
    )
    says = "Change of the score under other attention, by what the decoder sees"
    return Picture(says, (WITHOUT, WITH), panels)


FINDING = Finding(
    name="query-in-decoder",
    title="Is attention needed because the question has no other way in?",
    question=(
        "Some models read a text with a question in mind, or on SNLI with the other sentence of a "
        "pair. Attention is often their only part that sees the question. Suppose the last step "
        "(the decoder) sees it too: does replacing attention still cost as much? Attention is "
        "replaced after training, or is uniform from the start of training. The conditional LSTM "
        "reads the question after the text, starting from where the text ended."
    ),
    limits=(
        "A model that loses nothing without its attention may still have used it, because other "
        "parts can make up for the loss. A model whose attention is replaced after training never "
        "saw such weights, and may lose from that alone."
    ),
    commands=(
        "heedful study vashishth2019 --corpora babi1,babi2 --probes score,substitution --seeds 3",
        "heedful study vashishth2019 --corpora snli --encoders bilstm "
        "--probes score,substitution --seeds 3",
    ),
    tell=tell,
)
