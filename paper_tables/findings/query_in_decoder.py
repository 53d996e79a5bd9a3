"""What models of two texts lose without attention, with and without the query in the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, difference, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    ROWS,
    Evidence,
    Finding,
    Told,
    backed,
    basis,
    listed,
    measured,
    points,
    sentence,
    tallied,
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
    "delta:uniform:infer": "even weights after the training",
    "delta:permute:infer": "shuffled weights after the training",
    "delta:uniform:train+infer": "even weights in the training too",
}
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
    by_edit = {edit: [pair for pair in pairs if pair.edit == edit] for edit in EDITS.values()}
    sentences = [_said(edit, own) for edit, own in by_edit.items() if own]
    return Told((*sentences, _made_of(pairs)), _picture(pairs), (backing,))


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


def _said(edit: str, pairs: list[Pair]) -> str:
    """What is lost under one edit, and whose loss is larger."""
    parts = [f"{_both(pair)} for {pair.title}" for pair in pairs]
    signs = {pair.title: -pair.apart.sign for pair in pairs}
    words = ("without it more is lost", "without it less is lost", "no difference can be told")
    return sentence(
        f"with {edit} the score changes, without and with the question in the decoder, by "
        f"{listed(parts)} (points); {tallied(signs, *words)}"
    )


def _both(pair: Pair) -> str:
    without, with_ = estimate(pair.without), estimate(pair.with_)
    return f"{points(without)} against {points(with_)}"


def _made_of(pairs: list[Pair]) -> str:
    found = {basis(estimate(pair.without)): None for pair in pairs}
    return sentence(f"these are {' or '.join(found)} each")


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
        "In models that read a text with a question in mind (or, for SNLI, with the other "
        "sentence of a pair), attention is often the only part that sees the question. If the "
        "last step (the decoder) is shown the question too, does the model still lose as much "
        "when its attention is made even, or shuffled? Attention is replaced once the model is "
        "trained, or made even from the start of a training. The conditional LSTM reads the "
        "question after the text, going on from where that ended."
    ),
    limits=(
        "A model that loses nothing without its attention may still have used it: the rest may "
        "make up for it. Where attention is replaced after the training, what follows it was "
        "never trained on such weights, and a loss may come from that alone."
    ),
    commands=(
        "heedful study vashishth2019 --corpora babi1,babi2 --probes score,substitution --seeds 3",
        "heedful study vashishth2019 --corpora snli --encoders bilstm "
        "--probes score,substitution --seeds 3",
    ),
    tell=tell,
)
