"""Methods of several papers that promise readable attention, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, between, estimate
from heedful.report.figures.dots import Panel
from heedful.studies import dataset_name
from paper_tables.findings.evidence import (
    AUDITS,
    Evidence,
    Finding,
    Table,
    Told,
    backed,
    directed,
    listed,
    of_line,
    points,
    said,
    sentence,
    tallied,
)

SCORE, IMPORTANCE, SUPPORTED = "accuracy", "importance", "SUPPORTED"
METHODS = {
    "+tying": ("tying", "states stay near their words; Tutek and Šnajder"),
    "+mlm": ("masked words", "states tell masked words; Tutek and Šnajder"),
    "+diversity": ("diversity", "states point different ways; Mohankumar et al."),
    "orthogonal-": ("orthogonal", "an LSTM whose states differ; Mohankumar et al."),
    "-sparsemax": ("sparsemax", "weights may be zero; Martins and Astudillo"),
    "-entmax": ("entmax", "weights may be zero; Peters et al."),
    "+supervised": ("supervised", "taught by people's marks"),
}
"""By what a model's name has of it: what it is called, what it does and whose it is."""
HEAD = (
    "method",
    "faithfulness",
    "against no method",
    "accuracy (per cent)",
    "against no method",
    "examples (faithfulness)",
    "examples (accuracy)",
    "trainings",
)
BASE, BASE_NAME = "bilstm-additive", "no method"


@dataclass(frozen=True)
class Entrant:
    """A method's score on all examples, and how well its attention marks the words that matter."""

    name: str
    score: Estimate
    importance: Estimate
    decision: str


def tell(evidence: Evidence) -> Told | None:
    order = [BASE_NAME, *(name for name, _ in METHODS.values())]
    found = sorted(_entrants(evidence), key=lambda each: order.index(each.name))
    names = [each.name for each in found]
    if BASE_NAME not in names or len(found) < 2:
        return None
    base = found.pop(names.index(BASE_NAME))
    data = str(_verdicts(evidence)["data"].iloc[0])
    sentences = (_scale(data), _enough(found))
    backing = (
        backed(AUDITS, kind="verdict", measure=IMPORTANCE),
        backed(AUDITS, kind="score", measure=SCORE),
    )
    answer = _answer(base, found)
    return Told(answer, _picture([base, *found]), (_table(base, found),), backing, sentences)


def _verdicts(evidence: Evidence) -> pd.DataFrame:
    """Of the corpus on which the base and most methods were audited, all on as many examples."""
    table = evidence.of_audits("verdict", IMPORTANCE)
    table = table[table["mean"].notna() & table["model"].map(lambda name: _method(name) != "")]
    groups = [part for _, part in table.groupby(["data", "texts", "seeds"], sort=True)]
    return max(groups, key=lambda part: part["model"].nunique(), default=table)


def _entrants(evidence: Evidence) -> Iterator[Entrant]:
    scores = evidence.of_audits("score", SCORE)
    for _, line in _verdicts(evidence).iterrows():
        own = scores[(scores["weights"] == line["weights"]) & (scores["data"] == line["data"])]
        if len(own):
            name = _method(str(line["model"]))
            yield Entrant(name, estimate(own), of_line(line), str(line["decision"]))


def _method(model: str) -> str:
    """Empty for models that no method made."""
    if model == BASE:
        return BASE_NAME
    return next((name for part, (name, _) in METHODS.items() if part in model), "")


def _answer(base: Entrant, found: list[Entrant]) -> str:
    """Which methods are clearly better, and what those cost."""
    better = [each for each in found if between(each.importance, base.importance).sign > 0]
    if not better:
        return sentence("no method's attention can be told to be more faithful than without one")
    names = listed([each.name for each in better])
    only, make, numbers = "only " * (len(better) < len(found)), "make", ""
    if len(better) == 1:
        make = "makes"
        numbers = f" ({said(better[0].importance)} against {said(base.importance)})"
    signs = {each.name: between(each.score, base.score).sign for each in better}
    words = ("accuracy is higher", "accuracy is lower", "no change of accuracy can be told")
    costs = (
        tallied(signs, *words)
        if len(better) > 1
        else directed(between(better[0].score, base.score), *words)
    )
    return sentence(f"{only}{names} clearly {make} attention more faithful{numbers}; {costs}")


def _table(base: Entrant, found: list[Entrant]) -> Table:
    does = dict(METHODS.values())
    rows = [(base.name, *_numbers(base)[:1], "", *_numbers(base)[1:2], "", *_numbers(base)[2:])]
    for each in found:
        rank, score, *basis = _numbers(each)
        better = between(each.importance, base.importance)
        higher = between(each.score, base.score)
        rows.append(
            (
                f"{each.name} ({does[each.name]})",
                rank,
                directed(better, "better", "worse", "cannot be told"),
                score,
                directed(higher, "higher", "lower", "cannot be told"),
                *basis,
            )
        )
    return Table(HEAD, tuple(rows))


def _numbers(each: Entrant) -> tuple[str, ...]:
    rank, score = each.importance, each.score
    counts = (str(rank.texts), str(score.texts), str(rank.seeds))
    return (said(rank), points(score), *counts)


def _scale(data: str) -> str:
    corpus, _, rest = data.partition(",")
    return sentence(
        f"on {dataset_name(corpus)}{',' * bool(rest)}{rest}, faithfulness is zero for a random "
        "order of words and one for the order by how much they matter"
    )


def _enough(found: list[Entrant]) -> str:
    good = [each.name for each in found if each.decision == SUPPORTED]
    reached = listed(good) if good else "no method"
    return sentence(f"`heedful audit` asks for two thirds, clearly reached by {reached}")


def _picture(found: list[Entrant]) -> Picture:
    importance = tuple(Row(each.name, (("", each.importance),)) for each in found)
    score = tuple(Row(each.name, (("", each.score),)) for each in found)
    panels = (
        Panel("Faithfulness", "way from a random order to that by importance", importance),
        Panel("Score", "accuracy, per cent", score, zero=False, scale=100.0),
    )
    return Picture("Faithfulness of attention and accuracy, by method", ("",), panels)


FINDING = Finding(
    name="faithful-methods",
    title="Do methods for readable attention work, and what do they cost?",
    question=(
        "Several papers change how a model is built or trained so that its attention may be read "
        "as an explanation. All were measured in the same way on one corpus. Does attention mark "
        "the words that matter to the answer (is it faithful), and is the model still as good?"
    ),
    limits=(
        "The intervals of faithfulness hold jointly with those of three other questions. Two "
        "methods are compared by whether their intervals meet, so real differences may go untold. "
        "This is one small model on one corpus. Each method has one weight; that of tying was "
        "chosen by hand on other runs and is lighter than in the paper's comparison."
    ),
    commands=(
        "heedful repair --corpus sst --methods tying,mlm,diversity,orthogonal,sparsemax --seeds 3 "
        "--n 100",
    ),
    tell=tell,
)
