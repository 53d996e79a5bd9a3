"""What texts of an audit can be put in order by, in words. Where a study measures the same,
key and words are the same."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.examples.cell import Sorting
from heedful.report.examples.sortings import (
    FURTHEST_AWAY,
    MARKED,
    SHUFFLED,
    disagreement,
    searched,
    searched_as_spread,
)
from heedful.report.examples.titles import title_of

FOUND = searched("audit")
SPREAD = searched_as_spread("audit")
EVEN = Sorting("even", "output moved by even attention")


def measured(evidence: AuditEvidence, exact: bool) -> list[tuple[Sorting, pd.Series]]:
    """Those that exist, each by text."""
    return [(sorting, values) for sorting, values in _all(evidence, exact) if len(values)]


def _all(evidence: AuditEvidence, exact: bool) -> Iterator[tuple[Sorting, pd.Series]]:
    trial = evidence.on_trial
    yield from _disagreements(evidence)
    yield FURTHEST_AWAY if exact else FOUND, evidence.values("jsd_same_output", trial)
    yield SPREAD, evidence.values("jsd_entropy_matched", trial)
    yield SHUFFLED, evidence.values("tvd_permuted", trial)
    yield EVEN, evidence.values("tvd", "", "uniform")
    for name in dict.fromkeys((trial, evidence.best)):
        yield from _erased(evidence, name)
    yield from _flips(evidence)
    yield MARKED, evidence.values("auprc", trial)


def _disagreements(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """1 − τ of attention and each importance measure, the first first."""
    for name in evidence.settings.importance:
        values = evidence.values(f"tau:{name}", evidence.on_trial)
        yield disagreement(name, title_of(name)), 1.0 - values


def _erased(evidence: AuditEvidence, name: str) -> Iterator[tuple[Sorting, pd.Series]]:
    """What is lost with the top words of a map, and what is kept by them alone."""
    for measure, up in (("comprehensiveness", False), ("sufficiency", True)):
        own = evidence.settings.made_with(name)
        named = evidence.named(measure)
        places = [operator for each, operator in named if each == name and operator not in own]
        for operator in places[:1]:
            title = f"{measure} of {title_of(name)} ({operator})"
            yield Sorting(f"{measure}_{name}", title, up), evidence.values(measure, name, operator)


def _flips(evidence: AuditEvidence) -> Iterator[tuple[Sorting, pd.Series]]:
    """How soon the decision flips, words going as they do in the curves that were recorded."""
    trial, shown = evidence.on_trial, evidence.shown
    recorded = [str(name) for name in shown.loc[shown["kind"] == "removed", "name"].unique()]
    places = [operator for each, operator in evidence.named("flip_share") if each == trial]
    for operator in [each for each in (*recorded, *places) if each in places][:1]:
        title = f"share of words gone when the decision flips, {title_of(trial)} ({operator})"
        key = f"flip_share_{trial}"
        yield Sorting(key, title, False), evidence.values("flip_share", trial, operator)
