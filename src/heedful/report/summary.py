"""What was found, in five lines for somebody who has not read the papers.

Each line carries its number; where there is too little data it says "inconclusive".
"""

from __future__ import annotations

from heedful.report.evidence import Evidence
from heedful.report.studied import papers_of
from heedful.report.summaries import SUMMARIES


def five_lines(evidence: Evidence) -> list[str]:
    """Five lines for each paper that the report speaks about."""
    return [line for lines in lines_by_paper(evidence).values() for line in lines]


def lines_by_paper(evidence: Evidence) -> dict[str, list[str]]:
    return {paper: _lines(evidence, paper) for paper in papers_of(evidence)}


def _lines(evidence: Evidence, paper: str) -> list[str]:
    """A study without lines of its own gets those of the paper that began it all."""
    name = paper if paper in SUMMARIES else "jain2019"
    lines: list[str] = SUMMARIES[name].make(evidence)
    return lines
