"""What tells runs of one model on one corpus apart, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import of_texts
from heedful.report.examples.cell import Cell


def audit_run(evidence: AuditEvidence) -> str:
    """`audit of 12 texts, 3 seeds`."""
    seeds = int(evidence.facts.get("checkpoints") or 1)
    more = f", {seeds} seeds" if seeds > 1 else ""
    return f"audit of {of_texts(len(evidence.examples))}{more}"


def told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """Runs that would still be called the same are numbered, in their order."""
    count, seen = Counter(map(_name, cells)), Counter[tuple[str, ...]]()
    found = []
    for cell in cells:
        seen[_name(cell)] += 1
        twice = bool(cell.run) and count[_name(cell)] > 1
        run = f"{cell.run}, no. {seen[_name(cell)]}" if twice else cell.run
        found.append(replace(cell, run=run))
    return found


def _name(cell: Cell) -> tuple[str, ...]:
    return cell.corpus, cell.model, cell.seed, cell.source, cell.run
