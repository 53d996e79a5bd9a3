"""Audit every exhibit and see whether the verdicts are right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from heedful.auditing.audit import audit_subject
from heedful.auditing.plan import Plan
from heedful.auditing.result import Audit
from heedful.auditing.spec import AuditSpec
from heedful.progress import Progress, silent
from heedful.verdict.settings import Settings
from heedful.verdict.table import tabulate_rows
from heedful.zoo.exhibit import Exhibit
from heedful.zoo.gallery import FAMILIES, KINDS, gallery
from heedful.zoo.result import ZooResult
from heedful.zoo.score import orders, sides

SPEC = AuditSpec(
    explanations=(
        "attention",
        "value_norm",
        "gradient_input",
        "integrated_gradients",
        "lrp",
        "occlusion",
        "occlusion:operator=mask",
    ),
    permutations=6,
    ceiling=40,
    search_steps=20,
    only=("interventions", "agreement", "erasure", "plausibility", "health"),
)
"""All that decides, and no more."""
PROPERTIES = ("necessity", "agreement", "sensitivity", "ranking")


def run_zoo(
    kinds: Sequence[str] = KINDS,
    families: Sequence[str] = tuple(FAMILIES),
    per_kind: int = 20,
    spec: AuditSpec = SPEC,
    settings: Settings = Settings(),
    progress: Progress = silent,
    seed: int = 0,
) -> ZooResult:
    """The same seed gives the same exhibits, and they the same verdicts."""
    return run_exhibits(gallery(kinds, families, per_kind, seed), spec, settings, progress)


def run_exhibits(
    exhibits: Sequence[Exhibit],
    spec: AuditSpec = SPEC,
    settings: Settings = Settings(),
    progress: Progress = silent,
) -> ZooResult:
    """One after the other; a model is let go before the next is opened."""
    settings = replace(settings, importance=settings.importance or spec.importance)
    verdicts, found, said = [], [], []
    for done, each in enumerate(exhibits):
        progress(each.name, done, len(exhibits))
        start = time.perf_counter()
        with each.opened() as subject:
            audit = audit_subject(subject, spec, settings, Plan())
        about = {"exhibit": each.name, "kind": str(each.kind), "truth": each.truth}
        verdicts.append(_row(each, audit, time.perf_counter() - start))
        table = tabulate_rows(audit.rows)
        found += [{**about, **row} for row in orders(table, settings)]
        said += [{**about, **row} for row in sides(table, settings)]
    progress("zoo", len(exhibits), len(exhibits))
    return ZooResult(*(pd.DataFrame(rows) for rows in (verdicts, found, said)))


def _row(each: Exhibit, audit: Audit, seconds: float) -> dict[str, object]:
    verdict = audit.verdict
    row: dict[str, object] = {
        "exhibit": each.name,
        "family": each.family,
        "kind": str(each.kind),
        "strength": each.strength,
        "ladder": each.ladder,
        "truth": each.truth,
        "decision": str(verdict.decision),
        "right": verdict.decision in each.expected,
        "swapped": verdict.decision in each.forbidden,
    }
    for name in PROPERTIES:
        statement = verdict[name]
        row[name] = statement.estimate
        row[f"{name} decision"] = str(statement.decision)
    return {**row, "best": verdict.recommendation.best, "seconds": seconds}
