"""mohankumar2020 and tutek2020 in five lines each: variants of models beside their base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.formats import number
from heedful.report.summaries.jain_serrano_vashishth import score_line
from heedful.report.summaries.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_findings,
    percent,
    points,
    reach,
    sentence,
    share,
    within,
)
from heedful.studies.papers import TUTEK2020 as STUDY

Groups = Callable[[list[Finding]], dict[str, list[Finding]]]

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
        _by_group(
            together, ("conicity", "conicity"), "Conicity of the states (1 is a line)", _kinds
        ),
        _moved(together),
        _agreed(together),
        f"{_kinds_of_words(together)} {_rationales(together)}",
    ]


def kind_of(model: str) -> str:
    """`vanilla`, `orthogonal` or `diversity`; a model of none of them is called vanilla."""
    return next((kind for kind in ("orthogonal", "diversity") if kind in model), "vanilla")


def _by_group(
    together: pd.DataFrame,
    of: tuple[str, str],
    subject: str,
    groups: Groups,
    show: Callable[[float], str] = number,
    after: Callable[[list[Finding]], dict[str, str]] = lambda firm: {},
) -> str:
    """One measure for each group of models, lowest and highest over corpora; `after` says more
    of some groups."""

    def write(firm: list[Finding]) -> str:
        more = after(firm)
        parts = [f"{k} {ends(some, show)}{more.get(k, '')}" for k, some in groups(firm).items()]
        return f"{subject}: {'; '.join(parts)} ({counted(firm)})."

    return sentence(together, of, subject, write)


def _kinds(found: list[Finding]) -> dict[str, list[Finding]]:
    """By model, in the paper's order; each stays sorted."""
    split = {
        words: [one for one in found if kind_of(one.where) == kind] for kind, words in KINDS.items()
    }
    return {words: some for words, some in split.items() if some}


def _moved(together: pd.DataFrame) -> str:
    """Shuffling, and how many items go until the decision flips."""
    subject = "Shuffling attention moves the output by (0 is no change, 1 the largest)"
    shuffled = _by_group(together, ("permutation", "tvd_median"), subject, _kinds)
    removed = [
        _by_group(
            together,
            ("importance_sets", f"restricted_fraction_{ranking}"),
            f"Mean share of items removed until the decision flips, {words}",
            _kinds,
        )
        for ranking, words in (("attention", "by attention"), ("random", "in random order"))
    ]
    return " ".join([shuffled, *removed])


def _agreed(together: pd.DataFrame) -> str:
    """Attention against gradients and integrated gradients."""
    return " ".join(
        _by_group(
            together, ("correlation", f"tau_{short}"), f"Average τ of attention and {words}", _kinds
        )
        for short, words in (("gradient", "gradients"), ("integrated", "integrated gradients"))
    )


def _kinds_of_words(together: pd.DataFrame) -> str:
    place = ("parts_of_speech", "mass:punctuation")
    line = _by_group(together, place, "Attention on punctuation", _kinds, percent)
    even = firm_findings(together, "parts_of_speech", "share:punctuation")
    return f"{line} Even attention has {ends(even, percent)} there." if even else line


def _rationales(together: pd.DataFrame) -> str:
    """Extracted rationales: how short, how sufficient, and how attended."""
    measures = ("length", "kept", "kept_random", "mass_extracted")
    split = {name: _kinds(firm_findings(together, "extracted", name)) for name in measures}

    def told(kind: str) -> str:
        length, kept, random, mass = (
            ends(split[name][kind], share) if kind in split[name] else "undefined"
            for name in measures
        )
        return (
            f"{kind} {length} of the tokens, decision kept for {kept} of texts (by as many random "
            f"tokens {random}), attention inside {mass}"
        )

    subject = "Rationales extracted from what the model decides"
    return sentence(
        together,
        ("extracted", "length"),
        subject,
        lambda firm: f"{subject}: {'; '.join(map(told, split['length']))}.",
    )


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
    alone = "Probability of the predicted class by one token alone, on average"
    moved = ("substitution", "delta:permute:infer")
    token = ("token_probability", "token_probability")
    return [
        _by_group(together, ("score", "f1"), "F1", _variants, share),
        _by_group(together, moved, shuffled, _variants, points, _below),
        _information(together),
        _by_group(together, token, alone, _variants, number, _below),
        f"{_quarters(together)} {_conicity(together)}",
    ]


def _variants(found: list[Finding]) -> dict[str, list[Finding]]:
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
    place = ("mutual_information", "mutual_information:frequent")
    said = _by_group(together, place, subject, _variants)
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
    sides = [_base_in(together, f"confidence={quarter}") for quarter in (1, 4)]
    if not all(sides):
        return f"{subject}, by confidence: not measured, or inconclusive."
    first, last = (ends(side, points) for side in sides)
    return f"{subject}, base: {first} where it is least sure, {last} where it is surest."


def _base_in(together: pd.DataFrame, group: str) -> list[Finding]:
    """The change of the base's decisions in one group of texts."""
    chosen = together[together["group"] == group].assign(group="all")
    found = firm_findings(chosen, "substitution", "changed:permute:infer")
    return [one for one in found if variant(one).name == BASE]


def _conicity(together: pd.DataFrame) -> str:
    firm = firm_findings(together, "conicity", "conicity")
    if not firm:
        return "Conicity of the states: not measured, or inconclusive."
    return f"Conicity of the states: {within(firm[0]) if len(firm) == 1 else reach(firm)}."
