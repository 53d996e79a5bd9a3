"""mohankumar2020 in five lines: score, conicity, what attention moves, what it agrees with, where
it lies. Every remedy stands beside the LSTM it is to mend."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.summaries.jain2019 import score_line
from heedful.report.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    percent,
    share,
)

KINDS = {
    "vanilla": "vanilla LSTM",
    "orthogonal": "orthogonal LSTM",
    "diversity": "with the diversity loss",
}
"""The paper's three models, told by what is in ours' names."""


def lines(evidence: Evidence) -> list[str]:
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


PIECE = Piece(
    name="mohankumar2020",
    description="conicity, shuffling, removal, gradients, kinds of words, extracted rationales",
    make=lines,
    paper="mohankumar2020",
)
