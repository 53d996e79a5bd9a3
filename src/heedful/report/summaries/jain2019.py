"""jain2019 in five lines: score, gradients, leaving words out, shuffling, adversaries."""

from __future__ import annotations

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.wording import agreement, findings, firm_or_why, left_out, percent, reach, span

ADVERSARIES = {
    "jsd_search": "a search found",
    "jsd_exact": "that exists",
    "jsd_entropy_matched": "a search among equally spread-out patterns found",
}
"""The distance a line is about, the first one measured, and how it came about."""


def lines(evidence: Evidence) -> list[str]:
    each = [score_line, _gradient, _leave_one_out, permutation_line, _adversary]
    return [line(evidence.together) for line in each]


def score_line(together: pd.DataFrame) -> str:
    found = findings(together, "score", "accuracy")
    firm, why = firm_or_why("How well the models predict", found)
    if why:
        return why
    majority = findings(together, "score", "majority")
    guess = (
        f"; always guessing the commonest class gives {reach(majority, percent)}"
        if majority
        else ""
    )
    return f"The models get {span(firm, percent)} of the test texts right{guess}." + left_out(found)


def _gradient(together: pd.DataFrame) -> str:
    found = findings(together, "correlation", "tau_gradient")
    firm, why = firm_or_why("Attention against gradients", found)
    if why:
        return why
    scale = "1 is the same order, 0 no relation"
    return (
        f"Attention and gradients order the words of a text {agreement(firm)} alike: "
        f"average τ {span(firm)}; {scale}." + left_out(found)
    )


def _leave_one_out(together: pd.DataFrame) -> str:
    found = findings(together, "correlation", "tau_loo")
    firm, why = firm_or_why("Attention against leaving words out", found)
    if why:
        return why
    line = (
        f"Attention and the effect of deleting a word order the words {agreement(firm)} alike: "
        f"average τ {span(firm)}."
    )
    ceiling = [one for one in findings(together, "correlation", "tau_gradient_loo") if one.firm]
    if ceiling:
        line += f" Gradients and deletion agree with each other at τ {reach(ceiling)}."
    return line + left_out(found)


def permutation_line(together: pd.DataFrame) -> str:
    found = findings(together, "permutation", "tvd_median")
    firm, why = firm_or_why("Shuffling the attention weights", found)
    if why:
        return why
    return (
        "Shuffling a text's attention weights moves the predicted probability by "
        f"{span(firm)} on average (0 is no change, 1 the largest)." + left_out(found)
    )


def _adversary(together: pd.DataFrame) -> str:
    found = {kind: findings(together, "adversarial", kind) for kind in ADVERSARIES}
    firm = {kind: [one for one in cells if one.firm] for kind, cells in found.items()}
    best = next((kind for kind in ADVERSARIES if firm[kind]), None)
    if best is None:
        everything = [one for cells in found.values() for one in cells]
        line = firm_or_why("Different attention, same prediction", everything)[1]
    else:
        line = (
            "Other attention weights can give nearly the same prediction: the largest distance "
            f"{ADVERSARIES[best]} averages {span(firm[best])}, where 0.69 is the most any two "
            "patterns can differ"
        )
        matched = firm["jsd_entropy_matched"]
        if matched and best != "jsd_entropy_matched":
            line += f"; a search among patterns as spread out as the model's found {reach(matched)}"
        line += "." + left_out(found[best])
    fixed = [one for one in findings(together, "reachability", "fixed") if one.firm]
    if fixed:
        share = reach(fixed, percent)
        line += f" For {share} of texts no attention whatever could change the decision."
    return line


PIECE = Piece(
    name="jain2019",
    description="score, attention against gradients and leaving out, shuffled, adversarial",
    make=lines,
    paper="jain2019",
)
