"""mohankumar2020 and tutek2020 in five lines each: variants of models beside their base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.formats import number
from heedful.report.summaries.jain_serrano_vashishth import score_line
from heedful.report.summaries.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    percent,
    points,
    reach,
    share,
    within,
)
from heedful.studies.tutek2020 import STUDY

KINDS = {
    "vanilla": "vanilla LSTM",
    "orthogonal": "orthogonal LSTM",
    "diversity": "with the diversity loss",
}
"""The paper's three models, told by what is in ours' names."""


def mohankumar2020(evidence: Evidence) -> list[str]:
    together = evidence.together
    return [
        score_line(together),
        _by_kind(together, "conicity", "conicity", "Conicity of the states (1 is a line)"),
        _moved(together),
        _agreed(together),
        f"{_kinds_of_words(together)} {_rationales(together)}",
    ]


def kind_of(model: str) -> str:
    """`vanilla`, `orthogonal` or `diversity`; a model of none of them is called vanilla."""
    return next((kind for kind in ("orthogonal", "diversity") if kind in model), "vanilla")


def _by_kind(
    together: pd.DataFrame,
    probe: str,
    measure: str,
    subject: str,
    show: Callable[[float], str] = number,
) -> str:
    """One measure for each of the three models, lowest and highest over corpora."""
    found = findings(together, probe, measure)
    firm, why = firm_or_why(subject, found)
    if why:
        return why
    parts = [f"{KINDS[kind]} {ends(some, show)}" for kind, some in _split(firm).items()]
    return f"{subject}: {'; '.join(parts)} ({counted(firm)})." + left_out(found)


def _split(found: list[Finding]) -> dict[str, list[Finding]]:
    """By model, in the paper's order; each stays sorted."""
    split = {kind: [one for one in found if kind_of(one.where) == kind] for kind in KINDS}
    return {kind: some for kind, some in split.items() if some}


def _moved(together: pd.DataFrame) -> str:
    """Shuffling, and how many items go until the decision flips."""
    shuffled = _by_kind(
        together,
        "permutation",
        "tvd_median",
        "Shuffling attention moves the output by (0 is no change, 1 the largest)",
    )
    removed = [
        _by_kind(
            together,
            "importance_sets",
            f"restricted_fraction_{ranking}",
            f"Mean share of items removed until the decision flips, {words}",
        )
        for ranking, words in (("attention", "by attention"), ("random", "in random order"))
    ]
    return " ".join([shuffled, *removed])


def _agreed(together: pd.DataFrame) -> str:
    """Attention against gradients and integrated gradients."""
    return " ".join(
        _by_kind(together, "correlation", f"tau_{short}", f"Average τ of attention and {words}")
        for short, words in (("gradient", "gradients"), ("integrated", "integrated gradients"))
    )


def _kinds_of_words(together: pd.DataFrame) -> str:
    line = _by_kind(
        together, "parts_of_speech", "mass:punctuation", "Attention on punctuation", percent
    )
    even = [one for one in findings(together, "parts_of_speech", "share:punctuation") if one.firm]
    return f"{line} Even attention has {ends(even, percent)} there." if even else line


def _rationales(together: pd.DataFrame) -> str:
    """Extracted rationales: how short, how sufficient, and how attended."""
    subject = "Rationales extracted from what the model decides"
    found = {
        name: findings(together, "extracted", name)
        for name in ("length", "kept", "kept_random", "mass_extracted")
    }
    why = firm_or_why(subject, found["length"])[1]
    if why:
        return why
    split = {name: _split([one for one in some if one.firm]) for name, some in found.items()}
    parts = [_rationale(kind, split) for kind in KINDS if kind in split["length"]]
    return f"{subject}: {'; '.join(parts)}." + left_out(found["length"])


def _rationale(kind: str, split: dict[str, dict[str, list[Finding]]]) -> str:
    reached = {name: _reached(found.get(kind, [])) for name, found in split.items()}
    return (
        f"{KINDS[kind]} {reached['length']} of the tokens, decision kept for {reached['kept']} of "
        f"texts (by as many random tokens {reached['kept_random']}), attention inside "
        f"{reached['mass_extracted']}"
    )


def _reached(found: list[Finding]) -> str:
    return ends(found, share) if found else "undefined"


BASE = "base"


@dataclass(frozen=True)
class Variant:
    """A model as the paper names it, its encoder and attention, and on which data; any other
    keeps its whole name."""

    name: str
    kind: str
    data: str


def tutek2020(evidence: Evidence) -> list[str]:
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


PIECES = (
    Piece(
        name="mohankumar2020",
        description="conicity, shuffling, removal, gradients, kinds of words, extracted rationales",
        make=mohankumar2020,
        paper="mohankumar2020",
    ),
    Piece(
        name="tutek2020",
        description="scores, replaced attention, mutual information, single tokens, quarters",
        make=tutek2020,
        paper="tutek2020",
    ),
)
