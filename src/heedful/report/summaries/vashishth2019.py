"""vashishth2019 in five lines: one text, two texts, generation, single weights, gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.summaries.jain2019 import permutation_line
from heedful.report.summaries.layers import layers_line
from heedful.report.summaries.serrano2019 import erasure_line
from heedful.report.wording import (
    Finding,
    bleu_points,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    points,
    share,
    within,
)
from heedful.studies import CONDITIONS

KINDS = {"pair": ("pair-",), "generation": ("seq2seq-", "transformer-")}
"""The kinds of corpora, told by how the names of the models for them begin."""

WORDS = {
    "uniform:train+infer": "uniform in training too",
    "uniform:infer": "uniform afterwards",
    "random:train+infer": "random in training too",
    "random:infer": "random afterwards",
    "permute:infer": "shuffled afterwards",
}
ALONE = (
    "With the context-only decoder the second text reaches the prediction through attention "
    "alone, so uniform attention removes it."
)


def lines(evidence: Evidence) -> list[str]:
    together = evidence.together
    single = _of_kind(together, "single")
    written = _of_kind(together, "generation")
    attending = single[~single["model"].str.contains("-gate", regex=False)]
    return [
        _changes(attending, "One text, change of accuracy in points: attention", points),
        _two_texts(_of_kind(together, "pair")),
        _changes(written, "Generation, change of BLEU: attention", bleu_points),
        f"{erasure_line(evidence)} {permutation_line(together)}",
        f"{_gate(single)} {layers_line(together)}",
    ]


def _of_kind(together: pd.DataFrame, kind: str) -> pd.DataFrame:
    starts = KINDS.get(kind) or tuple(start for some in KINDS.values() for start in some)
    among = together["model"].str.startswith(starts)
    return together[among if kind in KINDS else ~among]


def _changes(together: pd.DataFrame, subject: str, show: Callable[[float], str]) -> str:
    """The change under each replacement, lowest and highest, with intervals."""
    found = {when: findings(together, "substitution", f"delta:{when}") for when in CONDITIONS}
    every = [one for cells in found.values() for one in cells]
    why = firm_or_why(subject, every)[1]
    if why:
        return why
    firm = {when: _firm(cells) for when, cells in found.items()}
    parts = [f"{WORDS[when]} {ends(cells, show)}" for when, cells in firm.items() if cells]
    counts = counted([one for cells in firm.values() for one in cells])
    longest = max(found.values(), key=len)
    return f"{subject} {'; '.join(parts)} ({counts})." + left_out(longest)


def _two_texts(together: pd.DataFrame) -> str:
    """The two decoders beside each other, and why they must differ."""
    context = together[_decoder(together["model"], "context")]
    query = together[_decoder(together["model"], "query")]
    said = [
        _changes(part, f"Two texts, {words}, change of accuracy in points: attention", points)
        for part, words in ((context, "context-only decoder"), (query, "decoder with the query"))
        if len(part)
    ]
    if not said:
        return "Two texts: not measured."
    return " ".join([*said, ALONE] if len(context) else said)


def _decoder(models: pd.Series, name: str) -> pd.Series:
    return models.str.contains(rf"-{name}(?:$|[ +])", regex=True)


def _gate(together: pd.DataFrame) -> str:
    """Each gate beside the attention it takes the place of."""
    scores = {one.where: one for one in findings(together, "score", "accuracy") if one.firm}
    pairs = [
        (gate, scores[where.replace("-gate", "-additive", 1)])
        for where, gate in scores.items()
        if where.replace("-gate", "-additive", 1) in scores and "-gate" in where
    ]
    if not pairs:
        return "A sigmoid gate against attention: not measured, or inconclusive."
    return f"A sigmoid gate in attention’s place: {'; '.join(map(_beside, pairs))}."


def _beside(pair: tuple[Finding, Finding]) -> str:
    gate, attention = pair
    apart = gate.low > attention.high or attention.low > gate.high
    words = "the intervals lie apart" if apart else "the intervals overlap"
    data = gate.where.rpartition(" on ")[2]
    return (
        f"{data} accuracy {within(gate, share)} against {within(attention, share)} "
        f"({counted([gate, attention])}; {words})"
    )


def _firm(cells: Iterable[Finding]) -> list[Finding]:
    return [one for one in cells if one.firm]


PIECE = Piece(
    name="vashishth2019",
    description="attention replaced for one text, two texts, generation; single weights; gates",
    make=lines,
    paper="vashishth2019",
)
