"""Five lines for each paper, each with its number, or "inconclusive" with too little data."""

from __future__ import annotations

from heedful.entries import PaperSummary, by_name
from heedful.report.evidence import Evidence, papers_of
from heedful.report.summaries.jain_serrano_vashishth import jain2019, serrano2019, vashishth2019
from heedful.report.summaries.mohankumar_tutek import mohankumar2020, tutek2020
from heedful.report.summaries.wiegreffe_pruthi import pruthi2020, wiegreffe2019

_SUMMARIES = {
    "jain2019": (
        jain2019,
        "score, attention against gradients and leaving out, shuffled, adversarial",
    ),
    "serrano2019": (
        serrano2019,
        "score, single weights erased, flips, importance sets and their order",
    ),
    "vashishth2019": (
        vashishth2019,
        "attention replaced for one text, two texts, generation; single weights; gates",
    ),
    "wiegreffe2019": (
        wiegreffe2019,
        "even attention, seeds, guides, trained adversaries against seeds, per text",
    ),
    "pruthi2020": (
        pruthi2020,
        "attention kept off tokens that models need, and what gives it away",
    ),
    "mohankumar2020": (
        mohankumar2020,
        "conicity, shuffling, removal, gradients, kinds of words, extracted rationales",
    ),
    "tutek2020": (
        tutek2020,
        "scores, replaced attention, mutual information, single tokens, quarters",
    ),
}
SUMMARIES: dict[str, PaperSummary] = by_name(
    *(PaperSummary(name, words, make, paper=name) for name, (make, words) in _SUMMARIES.items())
)


def five_lines(evidence: Evidence) -> list[str]:
    """Five lines for each paper that the report speaks about."""
    return [line for lines in lines_by_paper(evidence).values() for line in lines]


def lines_by_paper(evidence: Evidence) -> dict[str, list[str]]:
    """A study without lines of its own gets those of the paper that began it all."""
    summaries = {
        paper: SUMMARIES.get(paper, SUMMARIES["jain2019"]) for paper in papers_of(evidence)
    }
    return {paper: list(summary.make(evidence)) for paper, summary in summaries.items()}
