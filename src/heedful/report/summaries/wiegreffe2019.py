"""wiegreffe2019 in five lines: even attention, seeds, guides, trained adversaries, per text."""

from __future__ import annotations

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.four_tests import points, weight
from heedful.report.wording import (
    Finding,
    ends,
    findings,
    firm_or_why,
    left_out,
    span,
    within,
)
from heedful.report.wording import (
    points as changed,
)

LEAK = 0.1
"""What attention's choice of a word may say of the label beyond the word itself."""
GUIDES = (("base", "the model's"), ("adversary", "the adversary's"))
NOTHING = "Trained adversaries against seeds: not measured, or inconclusive."


def lines(evidence: Evidence) -> list[str]:
    together = evidence.together
    return [
        uniform_line(together),
        seeds_line(together),
        guides_line(together),
        frontier_line(together),
        per_text_line(together),
    ]


def uniform_line(together: pd.DataFrame) -> str:
    """Where nothing is lost, the corpus cannot speak for or against attention."""
    found = findings(together, "substitution", "delta:uniform:train+infer")
    firm, why = firm_or_why("Even attention in training too", found)
    if why:
        return why
    needless = [one for one in firm if one.high >= 0]
    line = f"With even attention in training too the score changes by {ends(firm, changed)} points."
    if needless:
        names = ", ".join(one.where for one in needless)
        line += f" It need not fall, so these cannot tell whether attention explains: {names}."
    return line + left_out(found)


def seeds_line(together: pd.DataFrame) -> str:
    found = findings(together, "seeds", "jsd_seeds")
    firm, why = firm_or_why("Attention of other seeds", found)
    if why:
        return why
    change = [one for one in findings(together, "seeds", "delta_seeds") if one.firm]
    moved = f", and predicted probabilities by {ends(change)}" if change else ""
    return (
        f"Models that differ in their seed alone differ in attention by JSD {span(firm)}, where "
        f"0.69 is the most{moved}." + left_out(found)
    )


def guides_line(together: pd.DataFrame) -> str:
    """An MLP without context under the model's weights, against its own and even ones."""
    found = findings(together, "guides", "delta:base:own")
    firm, why = firm_or_why("The model's attention as a guide", found)
    if why:
        return why
    even = [one for one in findings(together, "guides", "delta:base:uniform") if one.firm]
    beaten = " and ".join(
        _verdict(some, words) for some, words in ((firm, "its own"), (even, "even"))
    )
    led = [one for one in findings(together, "guides", "delta:adversary:own") if one.firm]
    other = f" An adversary's weights: {ends(led, changed)} against its own." if led else ""
    said = f"To a model without context the trained model's weights are {beaten}.{other}"
    return said + "".join(_leak(together, *each) for each in GUIDES)


def _leak(together: pd.DataFrame, guide: str, whose: str) -> str:
    """A warning where weights give the label away: by the whole interval, in any cell."""
    every = findings(together, "guides", f"leak:{guide}")
    leaking = [one for one in every if one.firm and one.low > LEAK]
    if not leaking:
        return ""
    names = [one.where for one in leaking]
    alone = [one for one in findings(together, "guides", f"attended:{guide}") if one.where in names]
    return (
        f" Warning: {whose} weights give the label away ({', '.join(names)}). The most attended "
        f"word alone tells it with an accuracy of {ends(alone)}, {ends(leaking, changed)} points "
        f"more than the same word by occurring. How well these weights guide says nothing about "
        f"tokens."
    )


def _verdict(found: list[Finding], words: str) -> str:
    """By whole intervals: better, worse, or neither in all cells."""
    numbers = f"{words} weights ({ends(found, changed)} points of F1)" if found else words
    if found and all(one.low > 0 for one in found):
        return f"better than {numbers}"
    if found and all(one.high < 0 for one in found):
        return f"worse than {numbers}"
    return f"not clearly better or worse than {numbers}"


def frontier_line(together: pd.DataFrame) -> str:
    """The furthest adversary whose outputs moved no more than a seed's, against the seeds."""
    near = {one.where: one for one in findings(together, "seeds", "jsd_seeds") if one.firm}
    moved = {one.where: one for one in findings(together, "seeds", "delta_seeds") if one.firm}
    said = [
        _against(where, near[where], moved[where], together)
        for where in near
        if where in moved and _points_at(where, together)
    ]
    return " ".join(said) if said else NOTHING


Point = tuple[str, Finding, Finding]
"""An adversary's name, its JSD and its TVD."""


def _points_at(where: str, together: pd.DataFrame) -> list[Point]:
    measures = together.loc[together["probe"] == "frontier", "measure"].unique()
    found = []
    for name in points([str(measure) for measure in measures]):
        far = [x for x in findings(together, "frontier", f"jsd:{name}") if x.where == where]
        change = [x for x in findings(together, "frontier", f"tvd:{name}") if x.where == where]
        if far and change and far[0].firm:
            found.append((name, far[0], change[0]))
    return found


def _against(where: str, near: Finding, moved: Finding, together: pd.DataFrame) -> str:
    every = _points_at(where, together)
    kept = [point for point in every if point[2].mean <= moved.high]
    if not kept:
        return (
            f"Every trained adversary changes the outputs more than a seed does "
            f"({number(moved.mean, 3)}; {where})."
        )
    name, far, change = max(kept, key=lambda point: point[1].mean)
    goal = "on the labels " if name.startswith("labels") else ""
    return (
        f"An adversary trained {goal}to attend elsewhere (λ {weight(name):g}) differs by JSD "
        f"{within(far)} at a change of {number(change.mean, 3)} in the outputs, "
        f"{_compared(far, near)} seeds, {within(near)} at {number(moved.mean, 3)} ({where})."
    )


def _compared(far: Finding, near: Finding) -> str:
    if far.low > near.high:
        return "further than"
    return "less than" if far.high < near.low else "not clearly further than"


def per_text_line(together: pd.DataFrame) -> str:
    found = findings(together, "adversarial", "jsd_adversary")
    firm, why = firm_or_why("Adversaries for one text at a time", found)
    if why:
        return why
    return (
        f"Weights found for one text at a time reach JSD {span(firm)}; no training produced them, "
        f"so they bound what could be shown, not what a model would learn." + left_out(found)
    )


PIECE = Piece(
    name="wiegreffe2019",
    description="even attention, seeds, guides, trained adversaries against seeds, per text",
    make=lines,
    paper="wiegreffe2019",
)
