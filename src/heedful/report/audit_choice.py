"""Which explanation to show: the ranking with its price, and who agrees with whom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from heedful.report.audit_bars import Scale, bar
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import bounds, finite, milliseconds, of_texts, plain, shown

TAU = "tau:"


def ranked(evidence: AuditEvidence, question: str) -> list[dict[str, Any]]:
    """As the verdict ranked them, for `recommendation` (importance) or `direction`."""
    lines = list(evidence.verdict.get(question, {}).get("ranked") or ())
    values = [finite(each.get(name)) for each in lines for name in ("position", "low", "high")]
    known = [min(max(value, -0.5), 1.5) for value in values if not math.isnan(value)]
    scale = Scale(min([0.0, *known]), max([1.0, *known]), 0.0, 1.0, math.nan)
    best = str(evidence.verdict.get(question, {}).get("best") or "")
    return [_ranked(evidence, each, scale, best) for each in lines]


def sites(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """Other layers and heads, rollout and weighted attention, the best first."""
    lines = list(evidence.verdict.get("sites", {}).get("ranked") or ())
    bar_of = Scale(-0.15, 1.15, 0.0, 1.0, evidence.settings.effect("importance"))
    return [
        {
            "name": plain(str(each["name"])),
            "role": "on trial" if each["name"] == evidence.on_trial else "",
            "chosen_on": shown(each.get("chosen_on")),
            "bar": bar(bar_of, {"estimate": each.get("position"), **each}),
            "position": shown(each.get("position")),
            "bounds": bounds(each.get("low"), each.get("high")),
        }
        for each in lines
    ]


def ranking_order(evidence: AuditEvidence, names: set[str]) -> list[str]:
    """Names as the ranking has them, the rest by the alphabet."""
    lines = evidence.verdict.get("recommendation", {}).get("ranked") or ()
    order = [str(each["explanation"]) for each in lines]
    return [*(name for name in order if name in names), *sorted(names - set(order))]


def agreement(evidence: AuditEvidence) -> dict[str, Any]:
    """Mean τ of every explanation with every importance measure; nothing with itself."""
    columns = evidence.measures(TAU)
    names = {name for column in columns for name, _ in evidence.named(column)}
    lines = [_taus(evidence, name, columns) for name in _by_mean(evidence, names, columns)]
    return {"columns": [plain(column.removeprefix(TAU)) for column in columns], "lines": lines}


def _ranked(
    evidence: AuditEvidence, each: Mapping[str, Any], scale: Scale, best: str
) -> dict[str, Any]:
    name = str(each["explanation"])
    roles = {"on trial": evidence.on_trial, "recommended": best}
    place = {"estimate": each.get("position"), "low": each.get("low"), "high": each.get("high")}
    return {
        "name": plain(name),
        "role": ", ".join(role for role, whose in roles.items() if whose == name),
        "bar": bar(scale, place),
        "position": shown(each.get("position")),
        "bounds": bounds(each.get("low"), each.get("high")),
        "behind": shown(each.get("behind")),
        "tied": _told(each, name == best),
        "milliseconds": milliseconds(each.get("milliseconds")),
        "passes": shown(each.get("passes"), 1),
    }


def _told(each: Mapping[str, Any], best: bool) -> str:
    if best:
        return "the best found"
    return "cannot be told apart" if each.get("tied") else "worse"


def _by_mean(evidence: AuditEvidence, names: set[str], columns: list[str]) -> list[str]:
    def key(name: str) -> tuple[bool, float, str]:
        means = [_tau(evidence, name, column)[0] for column in columns]
        known = [each for each in means if not math.isnan(each)]
        floor = name in evidence.settings.floors
        return floor, -sum(known) / len(known) if known else math.inf, name

    return sorted(names, key=key)


def _taus(evidence: AuditEvidence, name: str, columns: list[str]) -> dict[str, Any]:
    cells = []
    for column in columns:
        mean, count = _tau(evidence, name, column)
        cells.append(
            {
                "text": shown(mean, 2),
                "shade": "0" if math.isnan(mean) else f"{100 * min(abs(mean), 1.0):.0f}",
                "kind": "down" if mean < 0 else "up",
                "title": of_texts(count) if count else "not measured, or the measure itself",
            }
        )
    floor = name in evidence.settings.floors
    role = "floor" if floor else "on trial" if name == evidence.on_trial else ""
    return {"name": plain(name), "role": role, "cells": cells}


def _tau(evidence: AuditEvidence, name: str, column: str) -> tuple[float, int]:
    found = [
        evidence.values(column, name, operator)
        for each, operator in evidence.named(column)
        if each == name
    ]
    values = [value for series in found for value in series]
    return (sum(values) / len(values), len(values)) if values else (math.nan, 0)
