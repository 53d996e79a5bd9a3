"""wiegreffe2019 and pruthi2020 in five lines each: models trained to attend elsewhere."""

from __future__ import annotations

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.figures.curves import weight
from heedful.report.formats import number
from heedful.report.readable import points as adversaries
from heedful.report.readable import weight as strength
from heedful.report.summaries.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_findings,
    firm_or_why,
    points,
    reach,
    sentence,
    share,
    span,
    within,
)

LEAK = 0.1
"""What attention's choice of a word may say of the label beyond the word itself."""
GUIDES = (("base", "the model's"), ("adversary", "the adversary's"))
NOTHING = "Trained adversaries against seeds: not measured, or inconclusive."


def wiegreffe2019(evidence: Evidence) -> list[str]:
    lines = (uniform_line, seeds_line, guides_line, frontier_line, per_text_line)
    return [line(evidence.together) for line in lines]


def uniform_line(together: pd.DataFrame) -> str:
    """Where nothing is lost, the corpus cannot speak for or against attention."""

    def write(firm: list[Finding]) -> str:
        change = ends(firm, points)
        line = f"With even attention in training too the score changes by {change} points."
        names = ", ".join(one.where for one in firm if one.high >= 0)
        untold = " It need not fall, so these cannot tell whether attention explains: "
        return f"{line}{untold}{names}." if names else line

    place = ("substitution", "delta:uniform:train+infer")
    return sentence(together, place, "Even attention in training too", write)


def seeds_line(together: pd.DataFrame) -> str:
    change = firm_findings(together, "seeds", "delta_seeds")
    moved = f", and predicted probabilities by {ends(change)}" if change else ""
    return sentence(
        together,
        ("seeds", "jsd_seeds"),
        "Attention of other seeds",
        lambda firm: (
            "Models that differ in their seed alone differ in attention by JSD "
            f"{span(firm)}, where 0.69 is the most{moved}."
        ),
    )


def guides_line(together: pd.DataFrame) -> str:
    """An MLP without context under the model's weights, against its own and even ones."""
    found = findings(together, "guides", "delta:base:own")
    firm, why = firm_or_why("The model's attention as a guide", found)
    if why:
        return why
    even = firm_findings(together, "guides", "delta:base:uniform")
    beaten = " and ".join(
        _verdict(some, words) for some, words in ((firm, "its own"), (even, "even"))
    )
    led = firm_findings(together, "guides", "delta:adversary:own")
    other = f" An adversary's weights: {ends(led, points)} against its own." if led else ""
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
        f"word alone tells it with an accuracy of {ends(alone)}, {ends(leaking, points)} points "
        f"more than the same word by occurring. How well these weights guide says nothing about "
        f"tokens."
    )


def _verdict(found: list[Finding], words: str) -> str:
    """By whole intervals: better, worse, or neither in all cells."""
    numbers = f"{words} weights ({ends(found, points)} points of F1)" if found else words
    if found and all(one.low > 0 for one in found):
        return f"better than {numbers}"
    if found and all(one.high < 0 for one in found):
        return f"worse than {numbers}"
    return f"not clearly better or worse than {numbers}"


def frontier_line(together: pd.DataFrame) -> str:
    """The furthest adversary whose outputs moved no more than a seed's, against the seeds."""
    near, moved = (
        {one.where: one for one in firm_findings(together, "seeds", name)}
        for name in ("jsd_seeds", "delta_seeds")
    )
    trained = {where: _points_at(where, together) for where in near if where in moved}
    said = [
        _against(where, near[where], moved[where], points)
        for where, points in trained.items()
        if points
    ]
    return " ".join(said) if said else NOTHING


Point = tuple[str, Finding, Finding]
"""An adversary's name, its JSD and its TVD."""


def _points_at(where: str, together: pd.DataFrame) -> list[Point]:
    measures = together.loc[together["probe"] == "frontier", "measure"].unique()
    points = []
    for name in adversaries(list(map(str, measures))):
        far, change = (
            [x for x in findings(together, "frontier", f"{axis}:{name}") if x.where == where]
            for axis in ("jsd", "tvd")
        )
        if far and change and far[0].firm:
            points.append((name, far[0], change[0]))
    return points


def _against(where: str, near: Finding, moved: Finding, points: list[Point]) -> str:
    kept = [point for point in points if point[2].mean <= moved.high]
    if not kept:
        return (
            f"Every trained adversary changes the outputs more than a seed does "
            f"({number(moved.mean, 3)}; {where})."
        )
    name, far, change = max(kept, key=lambda point: point[1].mean)
    goal = "on the labels " if name.startswith("labels") else ""
    return (
        f"An adversary trained {goal}to attend elsewhere (λ {strength(name):g}) differs by JSD "
        f"{within(far)} at a change of {number(change.mean, 3)} in the outputs, "
        f"{_compared(far, near)} seeds, {within(near)} at {number(moved.mean, 3)} ({where})."
    )


def _compared(far: Finding, near: Finding) -> str:
    if far.low > near.high:
        return "further than"
    return "less than" if far.high < near.low else "not clearly further than"


def per_text_line(together: pd.DataFrame) -> str:
    return sentence(
        together,
        ("adversarial", "jsd_adversary"),
        "Adversaries for one text at a time",
        lambda firm: (
            f"Weights found for one text at a time reach JSD {span(firm)}; no training "
            "produced them, so they bound what could be shown, not what a model would learn."
        ),
    )


SIGNALS = {
    "tau_loo": "τ of attention with leave-one-out",
    "overlooked": "the share of texts whose most important token gets less than even attention",
    "delta:uniform": "the change of accuracy with uniform attention",
}
"""What can be seen without knowing which tokens are impermissible."""


def pruthi2020(evidence: Evidence) -> list[str]:
    together = evidence.together
    penalised = together["model"].map(lambda name: weight(str(name)) > 0).astype(bool)
    honest, told = together[~penalised], together[penalised]
    return [
        f"{_mass(honest, 'Honest models')} {_worth(honest)}",
        _mass(told, "Models told to keep attention off these tokens"),
        _zeroed(told),
        _flags(honest, told),
        _signals(honest, told),
    ]


def _mass(together: pd.DataFrame, subject: str) -> str:
    """Attention on the tokens, and accuracy."""
    right = firm_findings(together, "deception", "accuracy")
    return sentence(
        together,
        ("deception", "mass"),
        f"{subject}, attention on impermissible tokens",
        lambda firm: (
            f"{subject} have {ends(firm, share)} of their attention on impermissible "
            f"tokens and are right on {ends(right, share)} of the texts ({counted(firm)})."
        ),
    )


def _worth(together: pd.DataFrame) -> str:
    found = findings(together, "deception", "delta:control")
    firm, why = firm_or_why("A control that never saw the tokens", found)
    return why or (
        f"A control that never saw the tokens differs in accuracy by {ends(firm, points)} points."
    )


def _zeroed(together: pd.DataFrame) -> str:
    subject = "Told-off models, their attention on these tokens set to zero afterwards"
    firm, why = firm_or_why(subject, findings(together, "deception", "delta:zeroed"))
    return why or (
        f"{subject}: accuracy changes by {ends(firm, points)} points ({counted(firm)}). Near "
        f"zero, where a control does worse, means that what the tokens say reaches the decision by "
        f"another way than their weights."
    )


def _flags(honest: pd.DataFrame, told: pd.DataFrame) -> str:
    parts = []
    for words, together in (("honest", honest), ("told-off", told)):
        found = findings(together, "detector", "flagged")
        flagged = [one.where for one in found if one.mean > 0]
        named = f" ({', '.join(flagged)})" if flagged else ""
        parts.append(f"{len(flagged)} of {len(found)} {words} models{named}")
    if not any(len(findings(part, "detector", "flagged")) for part in (honest, told)):
        return "The detector, where the tokens are known: not measured."
    return f"The detector, where the tokens are known, flags {' and '.join(parts)}."


def _signals(honest: pd.DataFrame, told: pd.DataFrame) -> str:
    """Which of the signals without that knowledge tell flagged models from the others."""
    every = pd.concat([honest, told])
    flags = {one.where: one.mean > 0 for one in findings(every, "detector", "flagged")}
    parts = []
    for measure, words in SIGNALS.items():
        found = firm_findings(every, "detector", measure)
        hit = [one for one in found if flags.get(one.where)]
        rest = [one for one in found if not flags.get(one.where, True)]
        if hit and rest:
            parts.append(f"{words} {_apart(hit, rest)}")
    if not parts:
        return "Signals without knowing the tokens: nothing flagged to compare with, or no rest."
    return f"Without knowing the tokens, flagged models against the others: {'; '.join(parts)}."


def _apart(hit: list[Finding], rest: list[Finding]) -> str:
    """Both ranges, and whether one cut lies between them."""
    apart = hit[-1].mean < rest[0].mean or hit[0].mean > rest[-1].mean
    verdict = "separates them" if apart else "does not separate them"
    return f"{reach(hit)} against {reach(rest)}, which {verdict}"
