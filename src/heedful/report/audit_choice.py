"""Which explanation to show: the ranking with its price, positions as dots, and agreement."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from heedful.metrics import F1_OF_MEANS, f1_of_means
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_properties import Scale, bar
from heedful.report.formats import (
    DASH,
    bounds,
    clipped,
    milliseconds,
    of_texts,
    plain,
    shown,
)
from heedful.report.panels import KINDS, Panel
from heedful.report.sheet import need
from heedful.verdict import MEASURE, Ranked, Recommendation, Site, score_positions

TAU = "tau:"


def ranked(evidence: AuditEvidence, found: Recommendation) -> list[dict[str, Any]]:
    """The explanations as the verdict ranked them."""
    values = [value for line in found.ranked for value in (line.position, line.low, line.high)]
    known = [min(max(value, -0.5), 1.5) for value in values if math.isfinite(value)]
    scale = Scale(min([0.0, *known]), max([1.0, *known]), 0.0, 1.0, math.nan)
    roles = {"on trial": evidence.on_trial, "recommended": found.best}
    return [
        {
            **_placed(line.explanation, line, scale),
            "role": ", ".join(role for role, name in roles.items() if name == line.explanation),
            "behind": shown(line.behind),
            "tied": _told(line, found.best),
            "milliseconds": milliseconds(line.milliseconds),
            "passes": shown(line.passes, 1),
        }
        for line in found.ranked
    ]


def sites(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """Other layers and heads, rollout and weighted attention, the best first."""
    scale = Scale(-0.15, 1.15, 0.0, 1.0, evidence.settings.effect("importance"))
    return [
        {
            **_placed(line.name, line, scale),
            "role": "on trial" if line.name == evidence.on_trial else "",
            "chosen_on": shown(line.chosen_on),
        }
        for line in evidence.verdict.sites.ranked
    ]


def _placed(name: str, line: Ranked | Site, scale: Scale) -> dict[str, Any]:
    return {
        "name": plain(name),
        "bar": bar(scale, line.position, line.low, line.high),
        "position": shown(line.position),
        "bounds": bounds(line.low, line.high),
    }


def ranking_order(evidence: AuditEvidence, names: set[str]) -> list[str]:
    """Names as the ranking has them, the rest by the alphabet."""
    order = [line.explanation for line in evidence.verdict.recommendation.ranked]
    return [*(name for name in order if name in names), *sorted(names - set(order))]


def agreement(evidence: AuditEvidence) -> dict[str, Any]:
    """Mean τ of every explanation with every importance measure; nothing with itself."""
    columns = evidence.measures(TAU)
    names = {name for column in columns for name, _ in evidence.named(column)}
    lines = [_taus(evidence, name, columns) for name in _by_mean(evidence, names, columns)]
    return {"columns": [plain(column.removeprefix(TAU)) for column in columns], "lines": lines}


def _told(line: Ranked, best: str) -> str:
    if line.explanation == best:
        return "the best found"
    return "cannot be told apart" if line.tied else "worse"


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
    table = score_positions(rows, replace(chosen, metrics=tuple(metrics)))
    table = table.assign(role=[_role(evidence, name) for name in table["explanation"]])
    reasons = _reasons(evidence)
    panels = [
        Positions(str(measure), str(operator), part, reasons.get((str(measure), str(operator)), ""))
        for (measure, operator), part in table.groupby(["measure", "operator"], sort=True)
    ]
    return sorted(panels, key=lambda panel: panel.measure != MEASURE)  # importance first


def _role(evidence: AuditEvidence, name: str) -> str:
    if name == evidence.on_trial:
        return "trial"
    return "best" if name == evidence.best else "other"


def _reasons(evidence: AuditEvidence) -> dict[tuple[str, str], str]:
    return {
        (part.measure, part.operator): part.reason
        for statement in evidence.verdict.statements
        if statement.property in ("importance", "direction")
        for part in statement.parts
        if not part.usable
    }


ROLES = {
    "trial": ("on trial", KINDS["matched"], "diamond"),
    "best": ("recommended", KINDS["exact"], "square"),
    "other": ("others", "#8a8f98", "circle"),
}
REACH = (-0.6, 1.4)
LABELS = 128
"""Pixels for the names of explanations."""


def dot_domain(found: list[Positions]) -> tuple[float, float]:
    """One axis for all panels, from below the floor to above the ceiling."""
    columns = [one.table[name] for one in found for name in ("low", "high", "position")]
    values = pd.concat([*columns, pd.Series([0.0, 1.0])]).dropna().clip(*REACH)
    return float(values.min()) - 0.04, float(values.max()) + 0.04


def dot_plot(one: Positions, order: list[str], domain: tuple[float, float]) -> Panel:
    """Names down, position across; shapes and colours both say who is who. An explanation
    that this operator made keeps its line, empty."""
    alt = need("altair")
    table = one.table.assign(
        label=one.table["explanation"].map(plain),
        from_=one.table["low"].clip(*REACH),
        to=one.table["high"].clip(*REACH),
        dot=one.table["position"].clip(*REACH),
        colour=one.table["role"].map(lambda role: ROLES[role][1]),
        shape=one.table["role"].map(lambda role: ROLES[role][2]),
    )
    names = [plain(name) for name in order]
    y = alt.Y(
        "label:N",
        scale=alt.Scale(domain=names),
        title=None,
        axis=alt.Axis(labelLimit=LABELS, minExtent=LABELS, grid=True),
    )
    scale = alt.Scale(domain=list(domain), nice=False)
    axis = alt.Axis(values=[-0.5, 0, 0.5, 1], format=".1f", grid=False)
    base = alt.Chart(table, width=230, height=17 * len(names))
    colour = alt.Color("colour:N", scale=None)
    x = alt.X("dot:Q", title="0: random, 1: best found", scale=scale, axis=axis)
    reach = base.mark_rule(strokeWidth=2.5, opacity=0.6).encode(
        y=y, x=alt.X("from_:Q", scale=scale), x2="to:Q", color=colour
    )
    dots = base.mark_point(filled=True, size=62, opacity=1).encode(
        y=y, x=x, color=colour, shape=alt.Shape("shape:N", scale=None)
    )
    return Panel(one.title, _ends(alt) + reach + dots, _says(one))


def dot_rows(found: list[Positions], order: list[str]) -> dict[str, Any]:
    """The numbers of the dots, for those who would rather read them."""
    tables = [one.table.set_index("explanation") for one in found]
    lines = [
        {"name": plain(name), "cells": [_cell(table, name) for table in tables]} for name in order
    ]
    return {"columns": [one.title for one in found], "lines": lines}


def _cell(table: pd.DataFrame, name: str) -> str:
    if name not in table.index:
        return DASH
    line = table.loc[name]
    return f"{shown(line['position'])} ({bounds(line['low'], line['high'])})"


def _ends(alt: Any) -> Any:
    data = alt.Data(values=[{"dot": 0}, {"dot": 1}])
    return alt.Chart(data).mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="dot:Q")


def _says(one: Positions) -> str:
    ranked = one.table.sort_values("position", ascending=False, kind="stable")
    parts = [
        f"{plain(str(name))} {shown(value)}"
        for name, value in zip(ranked["explanation"], ranked["position"], strict=True)
    ]
    return f"{one.title}, from a random order, 0, to the best found, 1: {', '.join(parts)}."


# Checks of the maps themselves, beside the ranking.

_ERASER = ("eraser_comprehensiveness", "eraser_sufficiency", "eraser_auprc", "eraser_token_f1")


def sanity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map beside that of the model with random weights, and under a moved origin."""
    measures = ("tau_randomised", "moved_by_shift")
    names = sorted({name for measure in measures for name, _ in evidence.named(measure)})
    lines = []
    for name in names:
        tau, moved = (evidence.values(measure, name) for measure in measures)
        numbers = {"tau": shown(tau.mean(), 2), "moved": shown(moved.mean())}
        lines.append({"name": plain(name), **numbers, "n": str(max(len(tau), len(moved)))})
    return lines


def infidelity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map against random sets of words, by operator, and under noise. A map is not scored
    by an operator that made it."""
    operators = sorted({operator for _, operator in evidence.named("infidelity")})
    names = sorted({name for name, _ in evidence.named("infidelity")})
    lines = []
    for name in names:
        numbers = [
            f"{operator} {shown(evidence.values('infidelity', name, operator).mean(), 4)}"
            for operator in operators
            if operator not in evidence.settings.made_with(name)
        ]
        moved = evidence.values("max_sensitivity", name)
        steady = shown(moved.mean(), 2) if len(moved) else "not asked"
        count = str(len(evidence.values("infidelity", name, operators[0])))
        lines.append({"name": plain(name), "gap": ", ".join(numbers), "moved": steady, "n": count})
    return lines


def eraser(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each explanation by ERASER's own definitions: by operator and not by one that made it, and
    against people's rationales where there are some."""
    names = sorted({name for measure in _ERASER for name, _ in evidence.named(measure)})
    lines = []
    for name in names:
        line, count = {"name": plain(name)}, 0
        for measure in _ERASER:
            own = evidence.settings.made_with(name)
            ways = sorted({o for n, o in evidence.named(measure) if n == name and o not in own})
            values = {way: evidence.values(measure, name, way) for way in ways}
            texts = [f"{way} {shown(each.mean(), 2)}".strip() for way, each in values.items()]
            line[measure] = ", ".join(texts) or DASH
            count = max([count, *(len(each) for each in values.values())])
        for measure, parts in F1_OF_MEANS.items():
            precision, recall = (
                pd.concat([evidence.values(part, name) for part in parts], axis=1).to_numpy(float).T
            )
            line[measure] = shown(f1_of_means(precision, recall), 2)
        lines.append({**line, "n": str(count)})
    return lines
