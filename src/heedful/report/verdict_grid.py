"""Several audits at a glance: data down, models across, a verdict each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import clipped, of_texts
from heedful.report.audit_properties import badge
from heedful.report.sheet import piece


def verdict_grid(audits: Sequence[AuditEvidence]) -> str:
    """The HTML of a table of buttons; audits that share model and data share a cell."""
    models, data = (
        list(dict.fromkeys(_named(each, fact) for each in audits)) for fact in ("model", "data")
    )
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number, each in enumerate(audits):
        place = _named(each, "data"), _named(each, "model")
        cells.setdefault(place, []).append(
            {"number": number, "badge": badge(each.verdict["decision"]), "note": _note(each)}
        )
    lines = [
        {"name": name, "cells": [cells.get((name, model), []) for model in models]} for name in data
    ]
    return piece("grid.html", count=len(audits), models=models, lines=lines)


def _named(each: AuditEvidence, fact: str) -> str:
    return clipped(each.facts.get(fact, "unnamed"), 60)


def _note(each: AuditEvidence) -> str:
    """What tells audits of the same model and data apart."""
    seeds = int(each.facts.get("checkpoints", 1))
    return of_texts(len(each.examples)) + (f", {seeds} seeds" if seeds > 1 else "")
