"""The properties of a verdict, one row each, with a bar between floor and ceiling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.formats import bounds, clipped, finite, plain, shown
from heedful.units import by_unit
from heedful.verdict import QUESTIONS, RELATIVE, Decision, Statement

MARKS = {
    Decision.SUPPORTED: ("yes", "✓"),
    Decision.NOT_SUPPORTED: ("no", "✗"),
    Decision.INCONCLUSIVE: ("open", "?"),
    Decision.NOT_ANSWERED: ("none", "∅"),
    Decision.UNUSABLE: ("none", "!"),
    Decision.NOT_MEASURED: ("none", "–"),
    Decision.REPORTED: ("told", "•"),
}
QUARTERS = {
    "length": ("shortest", "second", "third", "longest"),
    "confidence": ("least sure", "second", "third", "surest"),
}
MOST_CLASSES = 12
"""Of very many classes those with the most examples are shown."""


def properties(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """The statements in the order of the verdict, each with what is drawn beside it."""
    return [_property(evidence, statement) for statement in evidence.verdict.statements]


def badge(decision: Decision) -> dict[str, str]:
    """A decision as a colour's name, a sign and words: never a colour alone."""
    kind, sign = MARKS[decision]
    return {"kind": kind, "sign": sign, "words": decision.capitalize()}


def _property(evidence: AuditEvidence, statement: Statement) -> dict[str, Any]:
    scale = scale_of(statement)
    notes = dict.fromkeys([statement.blocked, *statement.notes])
    return {
        "statement": statement,
        "question": by_unit(QUESTIONS.get(statement.property, ""), evidence.unit),
        "badge": badge(statement.decision),
        "bar": bar(scale, statement.estimate, statement.low, statement.high),
        "notes": [note for note in notes if note],
        "numbers": [(plain(name), shown(value)) for name, value in statement.numbers.items()],
        "groups": _groups(evidence, statement, scale),
    }


def _groups(evidence: AuditEvidence, statement: Statement, scale: Scale) -> list[dict[str, Any]]:
    kinds = {
        "class": ("by predicted class", statement.by_class),
        "length": ("by quarter of length", statement.by_length),
        "confidence": ("by quarter of confidence", statement.by_confidence),
    }
    groups = []
    for kind, (title, strata) in kinds.items():
        kept = list(strata)
        if len(strata) > MOST_CLASSES:
            kept = sorted(strata, key=lambda stratum: -stratum.n)[:MOST_CLASSES]
        lines = [
            {
                "name": _group_name(evidence, stratum.group, kind),
                "bar": bar(scale, stratum.estimate, stratum.low, stratum.high),
                "stratum": stratum,
            }
            for stratum in kept
        ]
        if lines:
            groups.append({"title": title, "lines": lines, "more": len(strata) - len(kept)})
    return groups


def _group_name(evidence: AuditEvidence, group: str, kind: str) -> str:
    number = group.removeprefix(f"{kind}=")
    if not number.isdecimal():
        return clipped(group)
    if kind == "class":
        return evidence.class_name(int(number))
    names = QUARTERS[kind]
    return names[int(number) - 1] if 1 <= int(number) <= len(names) else group


REACH = (-0.5, 2.5)
"""What is drawn of an interval on such a scale at most; a longer one is cut at the edge."""

ROOM = (-0.15, 1.15)
"""What is drawn at least, so that groups beyond floor or ceiling can be seen."""

APART = 32
"""Percent of the width between two labels that stand beside each other at least."""

EDGE = 20
"""Labels nearer to an edge begin or end where they belong, else they are centred there."""


@dataclass(frozen=True)
class Scale:
    """The axis of one property, shared by its groups. NaN: there is none."""

    low: float
    high: float
    floor: float
    ceiling: float
    threshold: float

    def place(self, value: float) -> str:
        """Percent of the width, kept a little inside; "" where there is nothing to place."""
        if math.isnan(value):
            return ""
        share = (value - self.low) / (self.high - self.low)
        return f"{3 + 94 * min(max(share, 0.0), 1.0):.1f}"


@dataclass(frozen=True)
class Label:
    """Words, and where they stand: in percent, and whether they begin, end or are centred there."""

    place: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Bar:
    """Left edges and widths in percent, and the same in words."""

    estimate: str
    low: str
    width: str
    threshold: str
    floor: str
    ceiling: str
    span: str
    threshold_text: str
    ends: tuple[Label, ...]
    says: str


def scale_of(statement: Statement) -> Scale:
    """Floor and ceiling in the unit of the estimate, which is not always that of the measure:
    a difference to the floor starts at 0."""
    threshold, (floor, ceiling) = finite(statement.threshold), _ends(statement)
    values = [finite(value) for value in (statement.estimate, statement.low, statement.high)]
    room: tuple[float, ...] = (0.0,)
    if statement.property in RELATIVE:
        values = [min(max(value, REACH[0]), REACH[1]) for value in values]
        room = ROOM
    points = [x for x in (*values, *room, floor, ceiling, threshold) if not math.isnan(x)]
    low, high = min(points), max(points)
    return Scale(low, max(high, low + 0.02), floor, ceiling, threshold)


def bar(scale: Scale, estimate: float, low: float, high: float) -> Bar | None:
    """Of a statement or a group of it; None where there is no estimate."""
    estimate, low, high = (finite(value) for value in (estimate, low, high))
    if math.isnan(estimate):
        return None
    return Bar(
        scale.place(estimate),
        scale.place(low),
        _between(scale, low, high),
        scale.place(scale.threshold),
        scale.place(scale.floor),
        scale.place(scale.ceiling),
        _between(scale, scale.floor, scale.ceiling),
        shown(scale.threshold),
        _labels(scale),
        _says(scale, estimate, low, high),
    )


def _ends(statement: Statement) -> tuple[float, float]:
    floor, ceiling = finite(statement.floor), finite(statement.ceiling)
    if statement.property in RELATIVE:
        return 0.0, 1.0
    if statement.decision is Decision.REPORTED:
        return floor, 1.0 if math.isnan(ceiling) else ceiling
    return 0.0, ceiling - (0.0 if math.isnan(floor) else floor)


def _labels(scale: Scale) -> tuple[Label, ...]:
    """Of floor and ceiling; one for both where two would run into each other."""
    named = {"floor": scale.floor, "ceiling": scale.ceiling}
    known = [(float(scale.place(x)), f"{name} {shown(x)}") for name, x in named.items() if x == x]
    known.sort(key=lambda each: each[0])
    if len(known) == 2 and known[1][0] - known[0][0] < APART:
        known = [((known[0][0] + known[1][0]) / 2, f"{known[0][1]}, {known[1][1]}")]
    labels = []
    for place, text in known:
        anchor = "start" if place < EDGE else "end" if place > 100 - EDGE else "middle"
        labels.append(Label(f"{place:.1f}", anchor, text))
    return tuple(labels)


def _between(scale: Scale, low: float, high: float) -> str:
    left, right = scale.place(low), scale.place(high)
    return f"{float(right) - float(left):.1f}" if left and right else ""


def _says(scale: Scale, estimate: float, low: float, high: float) -> str:
    parts = [f"estimate {shown(estimate)}, bounds {bounds(low, high)}"]
    named = {"threshold": scale.threshold, "floor": scale.floor, "ceiling": scale.ceiling}
    parts += [f"{name} {shown(value)}" for name, value in named.items() if not math.isnan(value)]
    return "; ".join(parts)
