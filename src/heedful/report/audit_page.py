"""The page of an audit, verdict first: one file, no script, nothing loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.report import audit_facts, audit_heads, audit_inside, audit_texts
from heedful.report.audit_choice import agreement, ranked, ranking_order
from heedful.report.audit_dots import ROLES, dot_domain, dot_plot, dot_rows
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
from heedful.report.audit_evidence import AuditEvidence, evidence_of
from heedful.report.audit_numbers import clipped, plain
from heedful.report.audit_positions import positions
from heedful.report.audit_properties import badge, properties
from heedful.report.extra import need
from heedful.report.figures.figure import Panel
from heedful.report.page import CSP
from heedful.report.provenance import heedful_version
from heedful.report.svg import inline
from heedful.report.templates import template


def audit_page(parts: Mapping[str, Any]) -> str:
    """The HTML. `parts` are an audit's verdict and facts as plain values, and its tables."""
    evidence = evidence_of(parts)
    return str(
        template("audit_template.html").render(
            csp=CSP,
            version=heedful_version(),
            **_verdict(evidence),
            properties=properties(evidence),
            choice=_choice(evidence),
            edits=_edits(evidence),
            inside=_inside(evidence),
            texts=audit_texts.texts(evidence),
            beside=plain(audit_texts.beside(evidence)),
            **_small_print(evidence),
        )
    )


def _verdict(evidence: AuditEvidence) -> dict[str, Any]:
    verdict = evidence.verdict
    headline, sentence = str(verdict["headline"]), str(verdict["recommendation"]["sentence"])
    return {
        "badge": badge(verdict["decision"]),
        "headline": headline[:1].upper() + headline[1:],
        "sentence": sentence[:1].upper() + sentence[1:],
        "recommendation_notes": list(verdict["recommendation"].get("notes") or ()),
        "warnings": list(verdict.get("warnings") or ()),
        "scope": audit_facts.scope(evidence),
        "model": clipped(evidence.facts.get("model", "a model")),
        "alpha": f"{100 * (1 - evidence.settings.alpha):.3g}%",
    }


def _choice(evidence: AuditEvidence) -> dict[str, Any]:
    found = positions(evidence)
    names = {str(name) for one in found for name in one.table["explanation"]}
    order = ranking_order(evidence, names)
    domain = dot_domain(found) if found else (0.0, 1.0)
    panels = [
        {**_drawn(dot_plot(one, order, domain), f"dots-{i}"), "note": _unusable(one.unusable)}
        for i, one in enumerate(found)
    ]
    return {
        "ranked": ranked(evidence),
        "panels": panels,
        "roles": [role for role in ROLES.values() if role[0] != "recommended" or evidence.best],
        "numbers": dot_rows(found, order),
        "agreement": agreement(evidence),
    }


def _edits(evidence: AuditEvidence) -> dict[str, Any]:
    return {
        "lines": edits(evidence),
        "erased": items(evidence),
        "moved": _histograms(moved(evidence), "moved"),
        "exclusive": _histograms(exclusive(evidence), "same"),
        "exact": is_exact(evidence),
        "reachable": reachable(evidence),
    }


def _inside(evidence: AuditEvidence) -> dict[str, Any]:
    """Nothing at all where no layer and no head was looked at."""
    found = {
        "stacks": _lines(audit_inside.stack_panels(evidence), "stack"),
        "stack_numbers": audit_inside.stack_numbers(evidence),
        "alone": _lines(audit_inside.alone_panels(evidence), "layer"),
        "alone_numbers": audit_inside.alone_numbers(evidence),
        "heads": audit_heads.heads(evidence),
        "null_space": audit_heads.null_space(evidence),
        "sanity": audit_heads.sanity(evidence),
        "infidelity": audit_heads.infidelity(evidence),
    }
    there = any(
        found[name] for name in ("stacks", "alone", "heads", "null_space", "sanity", "infidelity")
    )
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


def _histograms(found: list[Drawn], name: str) -> list[dict[str, Any]]:
    return [{**_drawn(panel(one), f"{name}-{i}"), **caption(one)} for i, one in enumerate(found)]


def _lines(found: list[Panel], name: str) -> list[dict[str, Any]]:
    return [_drawn(one, f"{name}-{i}") for i, one in enumerate(found)]


def _drawn(one: Panel, name: str) -> dict[str, Any]:
    markup = need("markupsafe").Markup
    return {"title": one.title, "svg": markup(inline(one.spec(), name, one.says))}


def _unusable(reason: str) -> str:
    return f"not scored here: {reason}" if reason else ""
