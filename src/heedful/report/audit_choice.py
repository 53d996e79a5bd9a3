"""Which explanation to show: the ranking with its price, positions as dots, and agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from heedful.metrics import F1_OF_MEANS, f1_of_means
from heedful.report.audit_evidence import NOTHING, AuditEvidence
from heedful.report.audit_properties import Scale, bar
from heedful.report.charts import Charts
from heedful.report.formats import (
    DASH,
    bounds,
    clipped,
    of_texts,
    plain,
    shown,
    with_bounds,
)
from heedful.report.panels import KINDS, Panel
from heedful.report.sheet import need
from heedful.verdict import MEASURE, Ranked, Recommendation, score_positions

TAU = "tau:"


def choice(evidence: AuditEvidence, charts: Charts, name: str) -> dict[str, Any]:
    """What the page says of the choice; `name` is that of its charts."""
    found, order = positioned(evidence)
    drawn = charts.draw_all(dot_panels(found, order), f"{name}-dots")
    return {
        "ranked": {
            "recommendation": ranked(evidence, evidence.verdict.recommendation),
            "direction": ranked(evidence, evidence.verdict.direction),
        },
        "sites": sites(evidence),
        "panels": [(panel, one.unusable) for panel, one in zip(drawn, found, strict=True)],
        "roles": roles(evidence),
        "numbers": dot_rows(found, order),
        "agreement": agreement(evidence),
    }


def checks(evidence: AuditEvidence) -> dict[str, Any]:
    """What the page says of the explanations themselves."""
    return {
        "sanity": sanity(evidence),
        "infidelity": infidelity(evidence),
        "eraser": eraser(evidence),
        "edits": edits(evidence),
        "pairs": pairs(evidence),
        "reduced": reduced(evidence),
        "left": left(evidence),
    }


def ranked(evidence: AuditEvidence, found: Recommendation) -> list[dict[str, Any]]:
    """The explanations as the verdict ranked them."""
    values = [value for line in found.ranked for value in (line.position, line.low, line.high)]
    known = [min(max(value, -0.5), 1.5) for value in values if math.isfinite(value)]
    scale = Scale(min([0.0, *known]), max([1.0, *known]), 0.0, 1.0, math.nan)
    roles = {"on trial": evidence.on_trial, "recommended": found.best}
    return [
        {
            "line": line,
            "name": line.explanation,
            "bar": bar(scale, line.position, line.low, line.high),
            "role": ", ".join(role for role, name in roles.items() if name == line.explanation),
            "tied": _told(line, found.best),
        }
        for line in found.ranked
    ]


def sites(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """Other layers and heads, rollout and weighted attention, the best first."""
    scale = Scale(-0.15, 1.15, 0.0, 1.0, evidence.settings.effect("importance"))
    return [
        {
            "line": line,
            "name": line.name,
            "bar": bar(scale, line.position, line.low, line.high),
            "role": "on trial" if line.name == evidence.on_trial else "",
        }
        for line in evidence.verdict.sites.ranked
    ]


def agreement(evidence: AuditEvidence) -> dict[str, Any]:
    """Mean τ of every explanation with every importance measure; nothing with itself."""
    measures, floors = evidence.measures(TAU), evidence.settings.floors
    taus = {
        name: [_taus(evidence, measure, name) for measure in measures]
        for name in evidence.explanations(*measures)
    }

    def place(name: str) -> tuple[bool, float, str]:
        """Floors last, the others by their mean over measures."""
        means = [float(values.mean()) for values in taus[name] if len(values)]
        return name in floors, -sum(means) / len(means) if means else math.inf, name

    lines = []
    for name in sorted(taus, key=place):
        role = "floor" if name in floors else "on trial" if name == evidence.on_trial else ""
        cells = [_tau_cell(values) for values in taus[name]]
        lines.append({"name": plain(name), "role": role, "cells": cells})
    return {"columns": [plain(measure.removeprefix(TAU)) for measure in measures], "lines": lines}


def _taus(evidence: AuditEvidence, measure: str, name: str) -> pd.Series:
    operators = evidence.operators(measure, name)
    parts = [evidence.values(measure, name, operator) for operator in operators]
    return pd.Series(pd.concat([NOTHING, *parts]))


def _tau_cell(values: pd.Series) -> dict[str, str]:
    mean = float(values.mean())
    return {
        "text": shown(mean, 2),
        "shade": "0" if math.isnan(mean) else f"{100 * min(abs(mean), 1.0):.0f}",
        "kind": "down" if mean < 0 else "up",
        "title": of_texts(len(values)) if len(values) else "not measured, or the measure itself",
    }


def _told(line: Ranked, best: str) -> str:
    if line.explanation == best:
        return "the best found"
    return "cannot be told apart" if line.tied else "worse"


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
    table = score_positions(rows, replace(chosen, metrics=tuple(metrics))).assign(role="other")
    table.loc[table["explanation"] == evidence.best, "role"] = "best"
    table.loc[table["explanation"] == evidence.on_trial, "role"] = "trial"
    reasons = {
        (part.measure, part.operator): part.reason
        for statement in evidence.verdict.statements
        if statement.property in ("importance", "direction")
        for part in statement.parts
        if not part.usable
    }
    panels = [
        Positions(str(measure), str(operator), part, reasons.get((str(measure), str(operator)), ""))
        for (measure, operator), part in table.groupby(["measure", "operator"], sort=True)
    ]
    return sorted(panels, key=lambda panel: panel.measure != MEASURE)  # importance first


ROLES = {
    "trial": ("on trial", KINDS["matched"], "diamond"),
    "best": ("recommended", KINDS["exact"], "square"),
    "other": ("others", "#8a8f98", "circle"),
}
REACH = (-0.6, 1.4)
LABELS = 128
"""Pixels for the names of explanations."""


def positioned(evidence: AuditEvidence) -> tuple[list[Positions], list[str]]:
    """By measure and operator, and the order of explanations in all of them: as the ranking has
    them, the rest by the alphabet."""
    found = positions(evidence)
    names = {str(name) for one in found for name in one.table["explanation"]}
    order = [line.explanation for line in evidence.verdict.recommendation.ranked]
    return found, [*(name for name in order if name in names), *sorted(names - set(order))]


def roles(evidence: AuditEvidence) -> list[tuple[str, str, str]]:
    """What colours and shapes of positions mean."""
    return [role for role in ROLES.values() if role[0] != "recommended" or evidence.best]


def dot_panels(found: list[Positions], order: list[str]) -> list[Panel]:
    domain = dot_domain(found) if found else (0.0, 1.0)
    return [dot_plot(one, order, domain) for one in found]


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
    ends = alt.Chart(alt.Data(values=[{"dot": 0}, {"dot": 1}]))
    dashed = ends.mark_rule(strokeDash=[3, 3], color="#8a8f98").encode(x="dot:Q")
    ranked = one.table.sort_values("position", ascending=False, kind="stable")
    pairs = zip(ranked["explanation"], ranked["position"], strict=True)
    parts = ", ".join(f"{plain(str(name))} {shown(value)}" for name, value in pairs)
    says = f"{one.title}, from a random order, 0, to the best found, 1: {parts}."
    return Panel(one.title, dashed + reach + dots, says)


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
    return with_bounds(line["position"], line["low"], line["high"])


# Checks of the maps themselves, beside the ranking.

_ERASER = ("eraser_comprehensiveness", "eraser_sufficiency", "eraser_auprc", "eraser_token_f1")


def sanity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map beside that of the model with random weights, and under a moved origin."""
    measures = ("tau_randomised", "moved_by_shift")
    lines = []
    for name in evidence.explanations(*measures):
        tau, moved = (evidence.values(measure, name) for measure in measures)
        numbers = {"tau": shown(tau.mean(), 2), "moved": shown(moved.mean())}
        lines.append({"name": plain(name), **numbers, "n": str(max(len(tau), len(moved)))})
    return lines


def infidelity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map against random sets of words, by operator, and under noise. A map is not scored
    by an operator that made it."""
    operators = sorted({operator for _, operator in evidence.named("infidelity")})
    lines = []
    for name in evidence.explanations("infidelity"):
        gaps = [
            f"{operator} {shown(evidence.values('infidelity', name, operator).mean(), 4)}"
            for operator in operators
            if operator not in evidence.settings.made_with(name)
        ]
        moved = evidence.values("max_sensitivity", name)
        steady = shown(moved.mean(), 2) if len(moved) else "not asked"
        count = str(len(evidence.values("infidelity", name, operators[0])))
        lines.append({"name": plain(name), "gap": ", ".join(gaps), "moved": steady, "n": count})
    return lines


def edits(evidence: AuditEvidence) -> dict[str, Any]:
    """Each explanation against the words that revisions changed, and the baselines: a line each,
    the best first where revisions flip the prediction. Nothing where no text has a revision."""
    scores = {(e.explanation, e.measure, e.revisions): e for e in evidence.verdict.edits.scores}
    if not scores:
        return {}
    lines = []
    for name in dict.fromkeys(explanation for explanation, _, _ in scores):
        cells = []
        for place, with_distance in _EDITS.items():
            one = scores.get((name, *place))
            cells.append(DASH if one is None else shown(one.value, 2))
            if with_distance:
                known = one is not None and math.isfinite(one.above)
                cells.append(with_bounds(one.above, one.low, one.high) if one and known else DASH)
        lines.append({"name": plain(name), "cells": cells})
    counts = {(one.measure, one.revisions): one.texts for one in scores.values()}
    flips, stays = (counts.get(("edit_auprc", where), 0) for where in ("flips", "stays"))
    both = counts.get(("edit_auroc", ""), 0)
    texts = (
        f"{of_texts(flips)} with a revision that flips, {stays} with one that does not, "
        f"{both} with one of each."
    )
    return {"lines": lines, "texts": texts}


_EDITS = {
    ("edit_auprc", "flips"): True,
    ("edit_precision", "flips"): False,
    ("edit_auprc", "stays"): False,
    ("edit_auroc", ""): True,
}
"""The columns, and whether the distance from the better baseline stands beside them."""


_REDUCED = ("words", "share", "confidence", "top", "alone", "chance", "inside")
_EXAMPLES = 3


def reduced(evidence: AuditEvidence) -> list[dict[str, str]]:
    """What keeps the prediction when the least important words have gone, by explanation."""
    lines = []
    for name in evidence.explanations("reduced_words"):
        values = {kind: evidence.values(f"reduced_{kind}", name) for kind in _REDUCED}
        numbers = {
            kind: shown(each.mean(), 1 if kind == "words" else 2) for kind, each in values.items()
        }
        lines.append({"name": plain(name), **numbers, "n": str(len(values["words"]))})
    return lines


def left(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """The first texts, and the words that are left of them by each explanation."""
    known = evidence.shown[evidence.shown["kind"] == "left"]
    names = set(known["example"])
    documents = [each for each in evidence.documents.to_dict("records") if each["example"] in names]
    found = []
    for document in documents[:_EXAMPLES]:
        lines = known[known["example"] == document["example"]]
        marked = zip(lines["name"], lines["scores"], strict=True)
        parts = [(plain(name), _of_words(document["words"], marks)) for name, marks in marked]
        found.append({"text": clipped(" ".join(document["words"]), 400), "left": parts})
    return found


def _of_words(words: Sequence[str], marks: Sequence[float]) -> str:
    return clipped(" ".join(word for word, mark in zip(words, marks, strict=False) if mark > 0))


def pairs(evidence: AuditEvidence) -> list[dict[str, str]]:
    """The explanations by the pairs that they name, and how pairs are named beside products."""
    return [
        {
            "name": _PAIRS.get(one.explanation, plain(one.explanation)),
            "captured": shown(one.captured, 2),
            "bounds": bounds(one.low, one.high),
        }
        for one in evidence.verdict.interactions.scores
    ]


_PAIRS = {"attention:between": "attention between the two", "adjacent": "nearness (baseline)"}


def eraser(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each explanation by ERASER's own definitions: by operator and not by one that made it, and
    against people's rationales where there are some."""
    lines = []
    for name in evidence.explanations(*_ERASER):
        line, counts = {"name": plain(name)}, [0]
        for measure in _ERASER:
            operators = evidence.fair_operators(measure, name)
            values = {each: evidence.values(measure, name, each) for each in operators}
            texts = [f"{each} {shown(v.mean(), 2)}".strip() for each, v in values.items()]
            line[measure] = ", ".join(texts) or DASH
            counts += map(len, values.values())
        for measure, parts in F1_OF_MEANS.items():
            precision, recall = (
                pd.concat([evidence.values(part, name) for part in parts], axis=1).to_numpy(float).T
            )
            line[measure] = shown(f1_of_means(precision, recall), 2)
        lines.append({**line, "n": str(max(counts))})
    return lines
