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
    Told,
    backed,
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
BASE, BASE_NAME = "bilstm-additive", "no method"


@dataclass(frozen=True)
class Entrant:
    """A method's score on all texts, and how well its attention marks the words that matter."""

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
    sentences = (_base(base, data), _better(base, found), _price(base, found), _enough(found))
    backing = (
        backed(AUDITS, kind="verdict", measure=IMPORTANCE),
        backed(AUDITS, kind="score", measure=SCORE),
    )
    return Told(sentences, _picture([base, *found]), backing)


def _verdicts(evidence: Evidence) -> pd.DataFrame:
    """Of the corpus on which the base and most methods were audited, all on as many texts."""
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


def _base(base: Entrant, data: str) -> str:
    corpus, _, rest = data.partition(",")
    return sentence(
        f"on {dataset_name(corpus)}{',' * bool(rest)}{rest}, without any method, the order of "
        f"words by attention is {said(base.importance)} of the way from a random order to the "
        f"order by how much words matter "
        f"({base.importance.texts} texts, {base.importance.seeds} trainings), at an accuracy of "
        f"{points(base.score)} per cent ({base.score.texts} texts)"
    )


def _better(base: Entrant, found: list[Entrant]) -> str:
    signs = {each.name: between(each.importance, base.importance).sign for each in found}
    does = dict(METHODS.values())
    told = [f"{said(each.importance)} for {each.name} ({does[each.name]})" for each in found]
    words = (
        "it is better, with bounds that do not meet,",
        "it is worse, with bounds that do not meet,",
        "it cannot be told apart from no method",
    )
    return sentence(f"with a method it is {listed(told)}; {tallied(signs, *words)}")


def _price(base: Entrant, found: list[Entrant]) -> str:
    signs = {each.name: between(each.score, base.score).sign for each in found}
    told = [f"{points(each.score)} for {each.name}" for each in found]
    words = ("it is higher", "it is lower", "it cannot be told apart from no method")
    return sentence(f"accuracy in per cent is then {listed(told)}; {tallied(signs, *words)}")


def _enough(found: list[Entrant]) -> str:
    good = [each.name for each in found if each.decision == SUPPORTED]
    asked = "two thirds of the way, which `heedful audit` asks for, is"
    return sentence(f"{asked} clearly reached by {listed(good) if good else 'none of them'}")


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
        "as an explanation. Measured in one way on one corpus: does attention mark the words that "
        "matter to the answer (is it faithful), and is the model still as good?"
    ),
    limits=(
        "The bounds of importance hold together with those of three other questions, and those of "
        "two methods are compared without what they have in common: more may differ than can be "
        "told here. One small model on one corpus; each method has one weight, that of tying "
        "chosen by hand on other runs and lighter than beside the published numbers."
    ),
    commands=(
        "heedful repair --corpus sst --methods tying,mlm,diversity,orthogonal,sparsemax --seeds 3 "
        "--n 100",
    ),
    tell=tell,
)
