"""A paper's tables for reading, each with a title and a caption."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heedful.report import four_tests
from heedful.report.by_model import DECEIVED, DECEPTION, TRANSPARENCY, TRANSPARENT, by_model
from heedful.report.display import beside, correlations, decoders, scores
from heedful.report.evidence import Evidence
from heedful.report.information import CAPTION as INFORMATION
from heedful.report.information import information
from heedful.report.quarters import CAPTION as QUARTERS
from heedful.report.quarters import quarters

TAU = (
    "Mean τ ± standard deviation between texts, by predicted class; “− paper” is measured minus "
    "paper. “Sig.” is the share of texts with p ≤ 0.05."
)
DIFFERENCE = "Difference is measured minus paper."
PER_CENT = (
    "Scores and shares are per cent, changes are points, BLEU goes from 0 to 100. Difference is "
    "measured minus paper; a substitute for the paper’s corpus has none."
)
TITLES = {
    ("serrano2019", "2"): "which erasure flips the decision, % of texts",
    ("vashishth2019", "1"): "one text, attention replaced",
    ("vashishth2019", "2"): "two texts, attention replaced",
    ("vashishth2019", "3"): "generation, attention replaced",
    ("tutek2020", "1"): "F1, and its change with attention replaced",
    ("tutek2020", "2"): "mutual information of words and states",
    ("tutek2020", "3"): "the predicted class by one token alone",
    ("tutek2020", "6"): "encoders of several layers",
}
CAPTIONS = {
    (
        "tutek2020",
        "2",
    ): "In nats: the paper does not say its unit. Difference is measured minus paper.",
    (
        "tutek2020",
        "3",
    ): "The mean over the tokens of texts that are read right. Difference is measured minus paper.",
}
BY_MODEL = {
    "pruthi2020": (("Attention kept off some tokens", DECEIVED, DECEPTION),),
    "mohankumar2020": (("States, and what attention tells", TRANSPARENT, TRANSPARENCY),),
}
DECODERS = (
    "The same models with either decoder. With the context-only decoder the second text reaches "
    "the prediction through attention alone, so uniform attention removes it; the decoder with "
    "the query sees it in any case. Units as above."
)


@dataclass(frozen=True)
class Readable:
    """A table with its words; `name` is that of its file."""

    name: str
    title: str
    caption: str
    table: pd.DataFrame


def readable(frame: pd.DataFrame, paper: str, evidence: Evidence) -> list[Readable]:
    """The tables of one paper that have something in them."""
    published = f" Published: {paper}. Blank: not published."
    tables = _of_jain2019(frame, evidence) if paper == "jain2019" else _numbered(frame, paper)
    found = [Readable(one.name, one.title, one.caption + published, one.table) for one in tables]
    found += _of_tutek2020(evidence) if paper == "tutek2020" else []
    found += _of_wiegreffe2019(evidence) if paper == "wiegreffe2019" else []
    found += [
        Readable("models", title, caption, by_model(evidence.together, columns))
        for title, caption, columns in BY_MODEL.get(paper, ())
    ]
    return [one for one in found if len(one.table)]


def _of_jain2019(frame: pd.DataFrame, evidence: Evidence) -> list[Readable]:
    gradient, left_out = (correlations(frame, f"tau_{x}", evidence) for x in ("gradient", "loo"))
    words = "Table 2: attention against"
    return [
        Readable("table1", "Table 1: how well the models predict", DIFFERENCE, scores(frame)),
        Readable("table2_gradient", f"{words} gradients", TAU, gradient),
        Readable("table2_leave_one_out", f"{words} leaving words out", TAU, left_out),
    ]


def _of_tutek2020(evidence: Evidence) -> list[Readable]:
    """What the paper does not print."""
    by, known = quarters(evidence.together), information(evidence.together)
    return [
        Readable("mutual_information", "How much there is to know", INFORMATION, known),
        Readable("quarters", "Attention replaced, by confidence and length", QUARTERS, by),
    ]


def _of_wiegreffe2019(evidence: Evidence) -> list[Readable]:
    """Its four tests; the paper prints no table of them."""
    tests = (
        ("uniform", "Test 1: is attention needed?", four_tests.uniform),
        ("seeds", "Test 2: how far apart are seeds?", four_tests.seeds),
        ("guides", "Test 3: does attention guide a model without context?", four_tests.guides),
        ("frontier", "Test 4: trained to attend elsewhere", four_tests.frontier),
    )
    return [
        Readable(name, title, four_tests.CAPTIONS[name], make(evidence.together))
        for name, title, make in tests
    ]


def _numbered(frame: pd.DataFrame, paper: str) -> list[Readable]:
    numbers = list(dict.fromkeys(frame["table"]))
    tables = [
        Readable(f"table{number}", _title(paper, number), caption, beside(frame, number))
        for number in numbers
        for caption in [CAPTIONS.get((paper, number), PER_CENT)]
    ]
    return [*tables, Readable("decoders", "The two decoders", DECODERS, decoders(frame))]


def _title(paper: str, number: str) -> str:
    words = TITLES.get((paper, number))
    return f"Table {number}: {words}" if words else f"Table {number}"
