"""tutek2020 in five lines: scores, replaced attention, information, single tokens, quarters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    points,
    reach,
    share,
    within,
)
from heedful.studies.tutek2020 import STUDY

BASE = "base"


@dataclass(frozen=True)
class Variant:
    """A model as the paper names it, its encoder and attention, and on which data; any other
    keeps its whole name."""

    name: str
    kind: str
    data: str


def lines(evidence: Evidence) -> list[str]:
    together = evidence.together
    shuffled = "Attention shuffled afterwards, change of F1 in points"
    return [
        _by_variant(together, ("score", "f1"), "F1", share),
        _by_variant(together, ("substitution", "delta:permute:infer"), shuffled, points, True),
        _information(together),
        _by_variant(
            together,
            ("token_probability", "token_probability"),
            "Probability of the predicted class by one token alone, on average",
            number,
            True,
        ),
        f"{_quarters(together)} {_conicity(together)}",
    ]


def _by_variant(
    together: pd.DataFrame,
    measure: tuple[str, str],
    subject: str,
    show: Callable[[float], str],
    against: bool = False,
) -> str:
    """The lowest and highest of each variant, and perhaps how often it is below the base."""
    found = findings(together, *measure)
    firm, why = firm_or_why(subject, found)
    if why:
        return why
    below = _below(firm) if against else {}
    parts = [
        f"{name} {ends(some, show)}{below.get(name, '')}" for name, some in _grouped(firm).items()
    ]
    return f"{subject}: {'; '.join(parts)} ({counted(firm)}).{left_out(found)}"


def _grouped(found: list[Finding]) -> dict[str, list[Finding]]:
    """By variant, in the study's order."""
    groups: dict[str, list[Finding]] = {}
    for one in found:
        groups.setdefault(variant(one).name, []).append(one)
    order = list(dict.fromkeys(name.rpartition("-")[2] for name in STUDY.names.values()))
    known = [name for name in order if name in groups]
    return {name: groups[name] for name in [*known, *(n for n in groups if n not in known)]}


def _below(found: list[Finding]) -> dict[str, str]:
    """How often a variant's interval lies below that of the base on the same data."""
    where = {variant(one): one for one in found}
    told: dict[str, list[bool]] = {}
    for place, one in where.items():
        base = where.get(Variant(BASE, place.kind, place.data))
        if base is not None and place.name != BASE:
            told.setdefault(place.name, []).append(one.high < base.low)
    return {
        name: f" [interval below the base’s in {sum(each)} of {len(each)}]"
        for name, each in told.items()
    }


def variant(one: Finding) -> Variant:
    label, _, data = one.where.rpartition(" on ")
    parts = STUDY.names.get(label, "").split("-")
    if len(parts) != 3:
        return Variant(label, "", data)
    return Variant(parts[2], "-".join(parts[:2]), data)


def _information(together: pd.DataFrame) -> str:
    """Beside what there is to know, and what comes by chance."""
    subject = "Mutual information of the most frequent words and their states, in nats"
    said = _by_variant(
        together, ("mutual_information", "mutual_information:frequent"), subject, number
    )
    chance, most = (
        findings(together, "mutual_information", f"{name}:frequent")
        for name in ("chance", "entropy")
    )
    if not chance or not most:
        return said
    return f"{said} By chance {reach(chance)}, at most {reach(most)}."


def _quarters(together: pd.DataFrame) -> str:
    """The least sure and the surest quarter of the texts."""
    subject = "Attention shuffled, change of accuracy in points"
    sides = [
        _base_only(_group(together, "changed:permute:infer", f"confidence={quarter}"))
        for quarter in (1, 4)
    ]
    firm = [[one for one in side if one.firm] for side in sides]
    if not all(firm):
        return f"{subject}, by confidence: not measured, or inconclusive."
    first, last = (ends(side, points) for side in firm)
    return f"{subject}, base: {first} where it is least sure, {last} where it is surest."


def _group(together: pd.DataFrame, measure: str, group: str) -> list[Finding]:
    chosen = together[together["group"] == group].assign(group="all")
    return findings(chosen, "substitution", measure)


def _base_only(found: list[Finding]) -> list[Finding]:
    return [one for one in found if variant(one).name == BASE]


def _conicity(together: pd.DataFrame) -> str:
    found = findings(together, "conicity", "conicity")
    firm = [one for one in found if one.firm]
    if not firm:
        return "Conicity of the states: not measured, or inconclusive."
    if len(firm) == 1:
        return f"Conicity of the states: {within(firm[0])}."
    return f"Conicity of the states: {reach(firm)}."


PIECE = Piece(
    name="tutek2020",
    description="scores, replaced attention, mutual information, single tokens, quarters",
    make=lines,
    paper="tutek2020",
)
