"""The page of a case: audits and studies together, verdict first, in one file.

It works from disk without a network, on a phone, on paper, and but for moving things
without scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.report.audit_chapter import audit_chapter
from heedful.report.audit_evidence import AuditEvidence, evidence_of
from heedful.report.audit_properties import badge
from heedful.report.charts import Charts
from heedful.report.examples.audit_cells import audit_cells
from heedful.report.examples.build import put_examples
from heedful.report.examples.study_cells import study_cells
from heedful.report.extra import need
from heedful.report.formats import clipped, of_texts
from heedful.report.sheet import Sheet, piece
from heedful.report.study_chapter import Content, scope, study_chapter

MOST = 500
"""Texts of a page that can be looked through, unless told otherwise."""

CONTENTS = (
    ("properties", "What was asked"),
    ("lines", "In five lines"),
    ("reading", "How to read this"),
    ("browser", "Every text"),
    ("choice", "Which explanation to show"),
    ("edits", "Changing attention"),
    ("inside", "Layers and heads"),
    ("tables", "Published beside measured"),
    ("figures", "Figures"),
    ("texts", "Texts chosen by rule"),
    ("study-texts", "Texts (Figure 1)"),
    ("meaning", "What it does not mean"),
    ("facts", "Settings and facts"),
    ("skipped", "Skipped"),
    ("provenance", "Provenance"),
)


@dataclass(frozen=True)
class Case:
    """What a page speaks about: audits, and what studies and probes found."""

    audits: Sequence[AuditEvidence] = ()
    study: Content | None = None


def audit_page(parts: Mapping[str, Any], most: int = MOST) -> str:
    """Of one audit: its verdict and facts as plain values, and its tables."""
    return page(Case([evidence_of(parts)]), most)


def page(case: Case, most: int = MOST) -> str:
    """The HTML, with at most so many texts to look through."""
    sheet, charts = Sheet(), Charts()
    audits = [audit_chapter(each, charts, f"audit{i}") for i, each in enumerate(case.audits)]
    study = study_chapter(case.study, charts) if case.study else None
    examples = most > 0 and put_examples(sheet, _cells(case), most)
    charts.finish(sheet)
    if len(audits) > 1:
        sheet.put("audits", audits)
    return sheet.render(
        "page.html",
        kicker="Heedful audit" if audits and not study else "Heedful report",
        title=_title(case),
        scope=scope(case.study.evidence) if case.study else "",
        grid=_markup(verdict_grid(case.audits)) if len(audits) > 1 else None,
        audit=_marked(audits[0]) if audits else None,
        study=_marked(study) if study else None,
        examples=examples,
        contents=_contents([*audits, *([study] if study else [])], examples),
    )


def _title(case: Case) -> str:
    names = list(dict.fromkeys(clipped(audit.facts.model) for audit in case.audits))
    if len(case.audits) == 1:
        return f"{names[0]}: {badge(case.audits[0].verdict.decision)['words']}"
    papers = case.study.evidence.papers or ["runs"] if case.study else []
    return ", ".join([*names, *papers])


def _cells(case: Case) -> list[Any]:
    found = [cell for i, each in enumerate(case.audits) for cell in audit_cells(each, i)]
    return [*found, *(study_cells(case.study.evidence) if case.study else [])]


def _contents(chapters: Sequence[Mapping[str, str]], examples: bool) -> list[tuple[str, str]]:
    """What the page has a heading for, whichever of its audits is read."""
    html = "".join(part for chapter in chapters for part in chapter.values())
    there = {"browser"} if examples else set()
    return [each for each in CONTENTS if each[0] in there or f'<h2 id="{each[0]}"' in html]


def _marked(chapter: Mapping[str, str]) -> dict[str, Any]:
    return {name: _markup(html) for name, html in chapter.items()}


def _markup(html: str) -> Any:
    """What templates of ours made is markup; nothing else is."""
    return need("markupsafe").Markup(html)


def verdict_grid(audits: Sequence[AuditEvidence]) -> str:
    """The HTML of a table of buttons; audits that share model and data share a cell."""
    places = [(clipped(audit.facts.data, 60), clipped(audit.facts.model, 60)) for audit in audits]
    data, models = (list(dict.fromkeys(names)) for names in zip(*places, strict=True))
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number, (place, audit) in enumerate(zip(places, audits, strict=True)):
        cells.setdefault(place, []).append(
            {"number": number, "badge": badge(audit.verdict.decision), "note": _note(audit)}
        )
    lines = [
        {"name": name, "cells": [cells.get((name, model), []) for model in models]} for name in data
    ]
    return piece("grid.html", count=len(audits), models=models, lines=lines)


def _note(audit: AuditEvidence) -> str:
    """What tells audits of the same model and data apart."""
    seeds = audit.facts.checkpoints
    return of_texts(len(audit.examples)) + (f", {seeds} seeds" if seeds > 1 else "")
