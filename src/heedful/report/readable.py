"""A paper's tables for reading, each with a title and a caption."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heedful.report.display import beside, correlations, decoders, scores
from heedful.report.evidence import Evidence

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
    return [one for one in found if len(one.table)]


def _of_jain2019(frame: pd.DataFrame, evidence: Evidence) -> list[Readable]:
    gradient, left_out = (correlations(frame, f"tau_{x}", evidence) for x in ("gradient", "loo"))
    words = "Table 2: attention against"
    return [
        Readable("table1", "Table 1: how well the models predict", DIFFERENCE, scores(frame)),
        Readable("table2_gradient", f"{words} gradients", TAU, gradient),
        Readable("table2_leave_one_out", f"{words} leaving words out", TAU, left_out),
    ]


def _numbered(frame: pd.DataFrame, paper: str) -> list[Readable]:
    numbers = list(dict.fromkeys(frame["table"]))
    tables = [
        Readable(f"table{number}", _title(paper, number), PER_CENT, beside(frame, number))
        for number in numbers
    ]
    return [*tables, Readable("decoders", "The two decoders", DECODERS, decoders(frame))]


def _title(paper: str, number: str) -> str:
    words = TITLES.get((paper, number))
    return f"Table {number}: {words}" if words else f"Table {number}"
