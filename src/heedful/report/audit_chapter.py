"""An audit as a part of a page, verdict first."""

from __future__ import annotations

from typing import Any

from heedful.report import audit_facts, audit_heads, audit_inside, audit_texts
from heedful.report.audit_choice import agreement, ranked, sites
from heedful.report.audit_dots import dot_rows
from heedful.report.audit_edits import (
    Drawn,
    caption,
    edits,
    exclusive,
    is_exact,
    items,
    moved,
    panel,
    reachable,
)
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_figures import dot_panels, positioned, roles
from heedful.report.audit_numbers import clipped, plain
from heedful.report.audit_properties import badge, properties
from heedful.report.charts import Charts
from heedful.report.figures.figure import Panel
from heedful.report.sheet import piece

PARTS = ("verdict", "properties", "evidence", "print")


def audit_chapter(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, str]:
    """The HTML of the verdict, the properties, the evidence and the small print. `name` keeps
    the charts of several audits apart."""
    content = {
        **_verdict(evidence),
        "properties": properties(evidence),
        "choice": _choice(evidence, charts, name),
        "edits": _edits(evidence, charts, name),
        "inside": _inside(evidence, charts, name),
        "texts": audit_texts.texts(evidence),
        "beside": plain(audit_texts.beside(evidence)),
        **_small_print(evidence),
    }
    return {part: piece(f"audit_{part}.html", **content) for part in PARTS}


def _verdict(evidence: AuditEvidence) -> dict[str, Any]:
    verdict = evidence.verdict
    parts = {name: verdict[name] for name in ("recommendation", "direction", "sites")}
    return {
        "badge": badge(verdict["decision"]),
        "headline": _sentence(verdict["headline"]),
        "sentences": {name: _sentence(part["sentence"]) for name, part in parts.items()},
        "choice_notes": {name: list(part.get("notes") or ()) for name, part in parts.items()},
        "warnings": list(verdict.get("warnings") or ()),
        "scope": audit_facts.scope(evidence),
        "model": clipped(evidence.facts.get("model", "a model")),
        "alpha": f"{100 * (1 - evidence.settings.alpha):.3g}%",
    }


def _sentence(text: Any) -> str:
    return str(text)[:1].upper() + str(text)[1:]


def _choice(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    found, order = positioned(evidence)
    dots = zip(found, dot_panels(found, order), strict=True)
    panels = [
        {**_drawn(charts, dot, f"{name}-dots-{i}"), "note": _unusable(one.unusable)}
        for i, (one, dot) in enumerate(dots)
    ]
    return {
        "ranked": {name: ranked(evidence, name) for name in ("recommendation", "direction")},
        "sites": sites(evidence),
        "panels": panels,
        "roles": roles(evidence),
        "numbers": dot_rows(found, order),
        "agreement": agreement(evidence),
    }


def _edits(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    return {
        "lines": edits(evidence),
        "erased": items(evidence),
        "moved": _histograms(charts, moved(evidence), f"{name}-moved"),
        "exclusive": _histograms(charts, exclusive(evidence), f"{name}-same"),
        "exact": is_exact(evidence),
        "reachable": reachable(evidence),
    }


def _inside(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    """Nothing at all where no layer and no head was looked at."""
    found = {
        "stacks": _lines(charts, audit_inside.stack_panels(evidence), f"{name}-stack"),
        "stack_numbers": audit_inside.stack_numbers(evidence),
        "alone": _lines(charts, audit_inside.alone_panels(evidence), f"{name}-layer"),
        "alone_numbers": audit_inside.alone_numbers(evidence),
        "heads": audit_heads.heads(evidence),
        "null_space": audit_heads.null_space(evidence),
        "sanity": audit_heads.sanity(evidence),
        "infidelity": audit_heads.infidelity(evidence),
        "eraser": audit_heads.eraser(evidence),
    }
    beside = ("null_space", "sanity", "infidelity", "eraser")
    there = any(found[name] for name in ("stacks", "alone", "heads", *beside))
    words = {
        "words": audit_inside.stack_words(evidence),
        "ends": list(audit_inside.ENDS.values()),
        "modes": list(audit_inside.MODES.values()),
    }
    return {**found, **words} if there else {}


def _small_print(evidence: AuditEvidence) -> dict[str, Any]:
    return {
        "caveats": list(evidence.verdict.get("caveats") or ()),
        "digest": str(evidence.verdict.get("digest") or ""),
        "facts": audit_facts.fact_lines(evidence),
        "settings": audit_facts.setting_lines(evidence),
        "versions": audit_facts.version_lines(evidence),
        "skipped": audit_facts.skipped_lines(evidence),
    }


def _histograms(charts: Charts, found: list[Drawn], name: str) -> list[dict[str, Any]]:
    return [
        {**_drawn(charts, panel(one), f"{name}-{i}"), **caption(one)} for i, one in enumerate(found)
    ]


def _lines(charts: Charts, found: list[Panel], name: str) -> list[dict[str, Any]]:
    return [_drawn(charts, one, f"{name}-{i}") for i, one in enumerate(found)]


def _drawn(charts: Charts, one: Panel, name: str) -> dict[str, Any]:
    return {"title": one.title, "chart": charts.draw(one, name)}


def _unusable(reason: str) -> str:
    return f"not scored here: {reason}" if reason else ""
