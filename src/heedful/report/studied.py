"""Which papers a report speaks about, and what their studies would have measured."""

from __future__ import annotations

from heedful.report.evidence import Evidence
from heedful.studies import STUDIES, Setting, Study

FIRST = "jain2019"


def study_of(paper: str) -> Study | None:
    """None for a paper whose numbers are known and whose experiments are not."""
    study: Study | None = STUDIES[paper].make() if paper in STUDIES else None
    return study


def papers_of(evidence: Evidence) -> list[str]:
    """The studies among the runs; where there is none, as few as have all the probes found."""
    return evidence.papers or _covering(set(evidence.cells["probe"])) or [FIRST]


def expected_probes(evidence: Evidence) -> set[str]:
    """What the studies among the runs ask of the corpora that were looked at."""
    corpora = set(evidence.cells["corpus"])
    return {
        probe.name
        for paper in evidence.papers
        for setting in _settings(paper)
        if corpora.intersection((*setting.corpora, *setting.also))
        for probe in setting.probes
    }


def _covering(probes: set[str]) -> list[str]:
    """Study by study, the one with the most of the probes that are left."""
    chosen, left = [], probes
    while left:
        best = max(STUDIES, key=lambda paper: len(left & _probes(paper)))
        if not left & _probes(best):
            break
        chosen.append(best)
        left = left - _probes(best)
    return chosen


def _probes(paper: str) -> set[str]:
    return {probe.name for setting in _settings(paper) for probe in setting.probes}


def _settings(paper: str) -> tuple[Setting, ...]:
    study = study_of(paper)
    return study.settings if study else ()
