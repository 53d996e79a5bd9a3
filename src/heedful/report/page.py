"""The page of a case: audits and studies together, verdict first, in one file.

It works from disk without a network, on a phone, on paper, and but for moving things
without scripts. The charts of an audit are also figures for files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.report.audit_answers import answers_of, put_answers
from heedful.report.audit_choice import checks, choice, dot_panels, positioned, roles
from heedful.report.audit_evidence import AuditEvidence, evidence_of
from heedful.report.audit_interventions import (
    ENDS,
    MODES,
    alone_panels,
    changes,
    exclusive,
    inside,
    moved,
    stack_panels,
)
from heedful.report.audit_properties import badge, properties
from heedful.report.audit_telling import telling
from heedful.report.audit_texts import beside, texts
from heedful.report.cell_builder import audit_cells, study_cells
from heedful.report.cell_data import put_examples
from heedful.report.cells import listed
from heedful.report.charts import Charts
from heedful.report.formats import DASH, clipped, of_texts, percent, plain, shown
from heedful.report.glossary import TERMS
from heedful.report.heads import put_heads
from heedful.report.panels import Figure, Group, Panel
from heedful.report.sheet import Sheet, need, piece
from heedful.units import WORD, by_unit

if TYPE_CHECKING:
    from heedful.report.study_chapter import Content

MOST_TEXTS = 500
"""Texts of a page that can be looked through, unless told otherwise."""

CHAPTERS = {
    "verdict": "Verdict",
    "examples": "Examples",
    "explanations": "Explanations",
    "interventions": "Interventions",
    "layers": "Layers and heads",
    "papers": "Paper figures",
    "methods": "Methods",
}
"""The sections of a page by their anchors; a chapter that has nothing to say is left out."""


@dataclass(frozen=True)
class Case:
    """What a page speaks about: audits, and what studies and probes found."""

    audits: Sequence[AuditEvidence] = ()
    study: Content | None = None


def audit_page(parts: Mapping[str, Any], most: int = MOST_TEXTS) -> str:
    """Of one audit: its verdict and facts as plain values, and its tables."""
    return page(Case([evidence_of(parts)]), most)


def page(case: Case, most: int = MOST_TEXTS) -> str:
    """The HTML, with at most so many texts to look through."""
    sheet, charts = Sheet(), Charts()
    audits = [audit_chapter(each, charts, f"audit{i}") for i, each in enumerate(case.audits)]
    study, looked_at = _study(case.study, charts) if case.study else (None, "")
    examples = most > 0 and put_examples(sheet, _cells(case), most)
    charts.finish(sheet)
    put_heads(sheet, case.audits)
    put_answers(sheet, case.audits)
    if len(audits) > 1:
        sheet.put("audits", audits)
    return sheet.render(
        "page.html",
        kicker="Heedful audit" if audits and not study else "Heedful report",
        title=_title(case),
        scope=looked_at,
        grid=_markup(verdict_grid(case.audits)) if len(audits) > 1 else None,
        audit=_marked(audits[0]) if audits else None,
        study=_marked(study) if study else None,
        examples=examples,
        unit=_unit(case),
        asked=any(listed(about) for each in case.audits for about in each.documents["about"]),
        glossary=[term._replace(says=by_unit(term.says, _unit(case))) for term in TERMS],
        chapters=_chapters([*audits, *([study] if study else [])], examples),
    )


def _unit(case: Case) -> str:
    """Of the whole page: words, unless all that is on it is about another unit."""
    units = {audit.unit for audit in case.audits} | ({WORD} if case.study else set())
    return units.pop() if len(units) == 1 else WORD


def _study(content: Content, charts: Charts) -> tuple[dict[str, str], str]:
    """The chapter of studies, and what they looked at. A page of audits does without."""
    from heedful.report.study_chapter import scope, study_chapter

    return study_chapter(content, charts), scope(content.evidence)


def _title(case: Case) -> str:
    names = list(dict.fromkeys(clipped(audit.facts.model) for audit in case.audits))
    if len(case.audits) == 1:
        return f"{names[0]}: {badge(case.audits[0].verdict.decision)['words']}"
    papers = case.study.evidence.papers or ["runs"] if case.study else []
    return ", ".join([*names, *papers])


def _cells(case: Case) -> list[Any]:
    found = [cell for i, each in enumerate(case.audits) for cell in audit_cells(each, i)]
    return [*found, *(study_cells(case.study.evidence) if case.study else [])]


def _chapters(parts: Sequence[Mapping[str, str]], examples: bool) -> list[tuple[str, str]]:
    """Those with something to read, whichever audit of the page is chosen."""
    there = {name for part in parts for name, html in part.items() if html.strip()}
    there |= {"examples"} if examples else set()
    return [(name, title) for name, title in CHAPTERS.items() if name in there]


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
            {"number": number, "badge": badge(audit.verdict.decision), "note": audit.size}
        )
    lines = [
        {"name": name, "cells": [cells.get((name, model), []) for model in models]} for name in data
    ]
    return piece("grid.html", count=len(audits), models=models, lines=lines)


AUDIT_PARTS = (
    *("answer", "verdict", "examples", "explanations", "interventions", "layers", "methods"),
)


def audit_chapter(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, str]:
    """The HTML of the answer, which every chapter begins with, and of each chapter. `name` keeps
    the charts of several audits apart."""
    content = {
        "verdict": evidence.verdict,
        "unit": evidence.unit,
        "badge": badge(evidence.verdict.decision),
        "headline": NUMBERS.sub("", evidence.verdict.headline),
        "telling": telling(evidence),
        "number": name,
        "scope": audit_scope(evidence),
        "alpha": f"{100 * (1 - evidence.settings.alpha):.3g}%",
        "properties": properties(evidence),
        "choice": choice(evidence, charts, name),
        "edits": changes(evidence, charts, name),
        "inside": {**inside(evidence, charts, name), **checks(evidence)},
        "texts": texts(evidence),
        "answers": {clipped(name): n for n, name in enumerate(answers_of(evidence))},
        "views": evidence.heads,
        "beside": plain(beside(evidence)),
        **_small_print(evidence),
    }
    parts = {part: piece(f"audit_{part}.html", **content) for part in AUDIT_PARTS}
    model = clipped(evidence.facts.model)
    return {
        part: piece("of_model.html", model=model, html=_markup(html)) if html.strip() else ""
        for part, html in parts.items()
    }


NUMBERS = re.compile(r" \(\w+ -?[\d.]+, asked -?[\d.]+\)")
"""Numbers of a headline, which stand below it as drawings."""


def _small_print(evidence: AuditEvidence) -> dict[str, Any]:
    verdict, facts = evidence.verdict, evidence.facts
    named = {name: value for name, value in facts.named.items() if name not in ELSEWHERE}
    skipped = sorted(facts.skipped.items())
    return {
        "facts": _lines(named),
        "settings": _lines(verdict.settings),
        "versions": _lines(verdict.versions),
        "skipped": [(clipped(name), clipped(why, LONGEST_TEXT)) for name, why in skipped],
    }


LONGEST_TEXT, MOST_ITEMS = 300, 20
ELSEWHERE = ("skipped", "name", "data")
"""Facts that have a place of their own on the page."""


def audit_scope(evidence: AuditEvidence) -> list[str]:
    """Model, data, how many texts, and how good the model is on them."""
    facts = evidence.facts
    count = len(evidence.examples) if facts.examples is None else facts.examples
    parts = [f"{clipped(facts.model)} on {clipped(facts.data)}", of_texts(count)]
    if math.isnan(facts.accuracy):
        parts.append("no labels")
    else:
        parts.append(f"accuracy {percent(facts.accuracy)}")
        parts.append(f"majority class {percent(facts.majority)}")
    if facts.truncated > 0:
        parts.append(f"{percent(facts.truncated)} truncated")
    return parts


def _lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(clipped(name).replace("_", " "), _text(name, values[name])) for name in sorted(values)]


def _text(name: str, value: Any) -> str:
    """A list by its items; a long one (a vocabulary as classes) by its length alone."""
    if isinstance(value, Mapping):
        items = list(value.items())[:MOST_ITEMS]
        value = ", ".join(f"{key} {_text('', each)}" for key, each in items)
    elif isinstance(value, (list, tuple)):
        if len(value) > MOST_ITEMS:
            return f"{len(value)} {name or 'items'}"
        value = ", ".join(map(str, value))
    elif isinstance(value, float):
        return shown(value, 4 if value % 1 else 0)
    return DASH if value is None else clipped(value, LONGEST_TEXT) or DASH


def audit_figures(evidence: AuditEvidence) -> Iterator[Figure]:
    """One for each chapter of the page that has charts."""
    found, order = positioned(evidence)
    yield from _figure("positions", dot_panels(found, order), roles(evidence))
    yield from _figure("changed", [one.panel() for one in moved(evidence)])
    yield from _figure("same_output", [one.panel() for one in exclusive(evidence)])
    yield from _figure("stacks", stack_panels(evidence), ENDS.values())
    yield from _figure("layers", alone_panels(evidence), MODES.values())


TITLES = {
    "positions": "Explanations from a random order (0) to the best order found (1)",
    "changed": "How far the output moves when attention is changed",
    "same_output": "How far another attention with the same output can be",
    "stacks": "More and more layers shuffled",
    "layers": "One layer changed, the others as they are",
}


def _figure(
    name: str, panels: list[Panel], legend: Iterable[tuple[str, str, str]] = ()
) -> Iterator[Figure]:
    if panels:
        colours = tuple((role, colour) for role, colour, _ in legend)
        yield Figure(name, TITLES[name], "", (Group("", colours, tuple(panels)),))
