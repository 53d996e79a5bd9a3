"""How far each explanation comes from a random order to the best one, measure by measure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import clipped, plain
from heedful.verdict import (
    MEASURE,
    Cell,
    Settings,
    Table,
    closed,
    direction_cells,
    importance_cells,
    other_site,
    position,
    sample,
    tabulate_rows,
)

MEASURES = ("comprehensiveness", "sufficiency")


@dataclass(frozen=True)
class Positions:
    """Explanations under one measure and operator; `unusable` says why it was not scored."""

    measure: str
    operator: str
    table: pd.DataFrame
    unusable: str = ""

    @property
    def title(self) -> str:
        return clipped(f"{plain(self.measure)}, {self.operator}")


def positions(evidence: AuditEvidence) -> list[Positions]:
    """By the verdict's own rules: a random order, the best order found, bounds over clusters; no
    explanation is scored by an operator that made it, and only signed ones on direction."""
    chosen = evidence.settings
    metrics = [name for name in MEASURES if name in chosen.metrics] or list(chosen.metrics[:2])
    rows = evidence.main[evidence.main["measure"].isin([MEASURE, *metrics])]
    if rows.empty:
        return []
    table, chosen = tabulate_rows(rows), replace(chosen, metrics=tuple(metrics))
    reasons = _reasons(evidence)
    found = _lines(evidence, table, chosen)
    grouped = found.groupby(["measure", "operator"], sort=True)
    panels = [
        Positions(str(measure), str(operator), part, reasons.get((str(measure), str(operator)), ""))
        for (measure, operator), part in grouped
    ]
    return sorted(panels, key=lambda one: one.measure != MEASURE)  # importance first


def _lines(evidence: AuditEvidence, table: Table, chosen: Settings) -> pd.DataFrame:
    cluster_of = table.cluster_of
    outside = {*chosen.floors, chosen.ceiling, ""}
    names = {str(name) for wide in table.wide.values() for name in wide.columns} - outside
    lines = []
    for name in sorted(name for name in names if not other_site(name, chosen)):
        for cell in _cells(table, name, chosen):
            value, low, high = closed(sample([[cell]], cluster_of), position, chosen.alpha)
            if not math.isnan(value):
                numbers = (value, low, high, len(cell.examples), _role(evidence, name))
                lines.append((cell.measure, cell.operator, name, *numbers))
    columns = ["measure", "operator", "explanation", "position", "low", "high", "n", "role"]
    return pd.DataFrame(lines, columns=columns)


def _cells(table: Table, name: str, chosen: Settings) -> Iterator[Cell]:
    yield from importance_cells(table, table.main, name, chosen)
    if name in chosen.signed:
        yield from direction_cells(table, table.main, name, chosen)


def _role(evidence: AuditEvidence, name: str) -> str:
    if name == evidence.on_trial:
        return "trial"
    return "best" if name == evidence.best else "other"


def _reasons(evidence: AuditEvidence) -> dict[tuple[str, str], str]:
    return {
        (str(part["measure"]), str(part.get("operator") or "")): str(part.get("reason") or "")
        for one in evidence.verdict.get("statements", ())
        if one["property"] in ("importance", "direction")
        for part in one.get("parts") or ()
        if not part.get("usable")
    }
