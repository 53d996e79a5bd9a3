"""What was audited and with what: settings, facts, what was left out. Nothing of any length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import DASH, clipped, finite, of_texts, percent, shown

LONGEST, MOST = 300, 20
APART = ("skipped", "model", "data")
"""Facts that have a place of their own on the page."""


def scope(evidence: AuditEvidence) -> list[str]:
    """Model, data, how many texts, and how good the model is on them."""
    known = {**evidence.verdict.get("facts", {}), **evidence.facts}
    count = known.get("examples", len(evidence.examples))
    parts = [f"{clipped(known.get('model', 'a model'))} on {clipped(known.get('data', 'data'))}"]
    parts.append(of_texts(count))
    if not math.isnan(finite(known.get("accuracy"))):
        parts.append(f"accuracy {percent(known['accuracy'])}")
        parts.append(f"majority class {percent(known.get('majority'))}")
    else:
        parts.append("no labels")
    if finite(known.get("truncated")) > 0:
        parts.append(f"{percent(known['truncated'])} truncated")
    return parts


def fact_lines(evidence: AuditEvidence) -> list[tuple[str, str]]:
    known = {**evidence.verdict.get("facts", {}), **evidence.facts}
    return _lines({name: value for name, value in known.items() if name not in APART})


def setting_lines(evidence: AuditEvidence) -> list[tuple[str, str]]:
    return _lines(evidence.verdict.get("settings") or {})


def version_lines(evidence: AuditEvidence) -> list[tuple[str, str]]:
    return _lines(evidence.verdict.get("versions") or {})


def skipped_lines(evidence: AuditEvidence) -> list[tuple[str, str]]:
    """Explanations that this model or these texts do not allow, and why."""
    found = evidence.facts.get("skipped") or {}
    return [(clipped(name), clipped(why, LONGEST)) for name, why in sorted(found.items())]


def _lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(clipped(name).replace("_", " "), _text(name, values[name])) for name in sorted(values)]


def _text(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} {_text('', each)}" for key, each in list(value.items())[:MOST])
        return clipped(inner, LONGEST) or DASH
    if isinstance(value, (list, tuple)):
        return _several(name, value)
    if isinstance(value, float):
        return shown(value, 4 if value % 1 else 0)
    return DASH if value is None or value == "" else clipped(value, LONGEST)


def _several(name: str, value: list[Any] | tuple[Any, ...]) -> str:
    """A list by its items; a long one (a vocabulary as classes) by its length alone."""
    if len(value) > MOST:
        return f"{len(value)} {name or 'items'}"
    return clipped(", ".join(str(each) for each in value), LONGEST) or DASH
