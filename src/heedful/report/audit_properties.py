"""The properties of a verdict, one row each, with what stands behind the number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.report.audit_bars import Scale, bar, scale_of
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import DASH, bounds, clipped, finite, percent, plain, shown
from heedful.verdict import QUESTIONS

MARKS = {
    "SUPPORTED": ("yes", "✓"),
    "NOT SUPPORTED": ("no", "✗"),
    "INCONCLUSIVE": ("open", "?"),
    "NOT ANSWERED": ("none", "∅"),
    "UNUSABLE": ("none", "!"),
    "NOT MEASURED": ("none", "–"),
    "REPORTED": ("told", "•"),
}
QUARTERS = {
    "length": ("shortest", "second", "third", "longest"),
    "confidence": ("least sure", "second", "third", "surest"),
}
MOST_CLASSES = 12


def properties(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """In the order of the verdict."""
    return [_property(evidence, each) for each in evidence.verdict.get("statements", ())]


def badge(decision: Any) -> dict[str, str]:
    """A decision as a colour's name, a sign and words: never a colour alone."""
    kind, sign = MARKS.get(str(decision), ("none", "–"))
    return {"kind": kind, "sign": sign, "words": clipped(decision).capitalize()}


def _property(evidence: AuditEvidence, one: Mapping[str, Any]) -> dict[str, Any]:
    scale = scale_of(one)
    notes = dict.fromkeys([str(one.get("blocked") or ""), *map(str, one.get("notes") or ())])
    return {
        "name": one["property"],
        "question": QUESTIONS.get(one["property"], ""),
        "badge": badge(one["decision"]),
        "unit": one.get("unit") or "",
        "bar": bar(scale, one),
        "estimate": shown(one.get("estimate")),
        "bounds": bounds(one.get("low"), one.get("high")),
        "threshold": shown(one.get("threshold")),
        "failing": percent(one.get("share_failing")),
        "n": one.get("n") or 0,
        "undefined": one.get("undefined") or 0,
        "macro": shown(one.get("macro")),
        "notes": [note for note in notes if note],
        "parts": [_part(part) for part in one.get("parts") or ()],
        "numbers": [(plain(str(k)), shown(v)) for k, v in (one.get("numbers") or {}).items()],
        "groups": _groups(evidence, one, scale),
    }


def _part(part: Mapping[str, Any]) -> dict[str, str]:
    usable = bool(part.get("usable"))
    return {
        "measure": plain(str(part["measure"])),
        "operator": str(part.get("operator") or "") or DASH,
        "estimate": shown(part.get("estimate")),
        "value": shown(part.get("value")),
        "floor": shown(part.get("floor")),
        "floor_name": str(part.get("floor_name") or ""),
        "ceiling": shown(part.get("ceiling")),
        "n": str(part.get("n", 0)),
        "undefined": str(part.get("undefined", 0)),
        "usable": "usable" if usable else f"not scored: {part.get('reason') or 'no reason given'}",
        "faint": "" if usable else "faint",
    }


def _groups(evidence: AuditEvidence, one: Mapping[str, Any], scale: Scale) -> list[dict[str, Any]]:
    kinds = {
        "by predicted class": ("by_class", "class"),
        "by quarter of length": ("by_length", "length"),
        "by quarter of confidence": ("by_confidence", "confidence"),
    }
    found = []
    for title, (field, kind) in kinds.items():
        strata = list(one.get(field) or ())
        if strata:
            kept = _largest(strata)
            lines = [_stratum(evidence, each, kind, scale) for each in kept]
            found.append({"title": title, "lines": lines, "more": len(strata) - len(kept)})
    return found


def _largest(strata: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All of a few; of very many classes those with the most examples."""
    if len(strata) <= MOST_CLASSES:
        return list(strata)
    return sorted(strata, key=lambda each: -int(each.get("n", 0)))[:MOST_CLASSES]


def _stratum(
    evidence: AuditEvidence, each: Mapping[str, Any], kind: str, scale: Scale
) -> dict[str, Any]:
    return {
        "group": _group_name(evidence, str(each["group"]), kind),
        "bar": bar(scale, each),
        "estimate": shown(each.get("estimate")),
        "bounds": bounds(each.get("low"), each.get("high")),
        "n": str(each.get("n", 0)),
    }


def _group_name(evidence: AuditEvidence, group: str, kind: str) -> str:
    number = _number(group.removeprefix(f"{kind}="))
    if math.isnan(number):
        return clipped(group)
    if kind == "class":
        return evidence.class_name(int(number))
    names = QUARTERS[kind]
    return names[int(number) - 1] if 1 <= number <= len(names) else group


def _number(text: str) -> float:
    return finite(int(text)) if text.isdecimal() else math.nan
