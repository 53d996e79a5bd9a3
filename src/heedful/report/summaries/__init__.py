"""Five lines for each paper, each with its number, or "inconclusive" with too little data."""

from __future__ import annotations

from heedful.report.evidence import Evidence, papers_of
from heedful.report.summaries import jain_serrano_vashishth, mohankumar_tutek, wiegreffe_pruthi

MODULES = (jain_serrano_vashishth, wiegreffe_pruthi, mohankumar_tutek)
SUMMARIES = {piece.name: piece for module in MODULES for piece in module.ENTRIES}


def five_lines(evidence: Evidence) -> list[str]:
    """Five lines for each paper that the report speaks about."""
    return [line for lines in lines_by_paper(evidence).values() for line in lines]


def lines_by_paper(evidence: Evidence) -> dict[str, list[str]]:
    """A study without lines of its own gets those of the paper that began it all."""
    summaries = {
        paper: SUMMARIES.get(paper, SUMMARIES["jain2019"]) for paper in papers_of(evidence)
    }
    return {paper: list(summary.make(evidence)) for paper, summary in summaries.items()}
