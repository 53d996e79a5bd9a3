"""The cell of an audit."""

from __future__ import annotations

import re

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import clipped
from heedful.report.examples.audit_model import AuditModel
from heedful.report.examples.cell import Cell
from heedful.report.examples.known import SORTINGS, means_of
from heedful.report.examples.runs import audit_run

SPLIT = re.compile(r", \w+ split$")


def audit_cells(evidence: AuditEvidence, number: int = 0) -> list[Cell]:
    """One, of the audit with this number among those of a page, from 0; none where no map was
    kept."""
    model = AuditModel(evidence)
    return [_cell(model, number)] if model.names else []


def _cell(model: AuditModel, number: int) -> Cell:
    facts = model.evidence.facts
    means = {each.key: float(values.mean()) for each, values in model.measured}
    return Cell(
        corpus=SPLIT.sub("", clipped(facts.get("data") or "texts")),
        classes=[str(name) for name in facts.get("classes") or ()],
        model=clipped(facts.get("model") or "model"),
        seed="",
        source="audit",
        names=model.names,
        maps=model.maps,
        measures=[*(each for each, _ in model.measured), *SORTINGS],
        means=means | means_of(model.facts),
        documents=model.documents,
        readings=model.readings,
        whole=frozenset(map(str, model.evidence.shown["example"])),
        logits=model.logits,
        run=audit_run(model.evidence),
        audit=number,
    )
