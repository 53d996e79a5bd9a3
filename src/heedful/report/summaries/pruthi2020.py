"""pruthi2020 in five lines: the honest models, the told-off ones, zeroing, flags, signals."""

from __future__ import annotations

import math

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.figures.deception import weight
from heedful.report.wording import (
    Finding,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    points,
    share,
)

SIGNALS = {
    "tau_loo": "τ of attention with leave-one-out",
    "overlooked": "the share of texts whose most important token gets less than even attention",
    "delta:uniform": "the change of accuracy with uniform attention",
}
"""What can be seen without knowing which tokens are impermissible."""


def lines(evidence: Evidence) -> list[str]:
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
    mass = findings(together, "deception", "mass")
    firm, why = firm_or_why(f"{subject}, attention on impermissible tokens", mass)
    if why:
        return why
    right = [one for one in findings(together, "deception", "accuracy") if one.firm]
    return (
        f"{subject} have {ends(firm, share)} of their attention on impermissible tokens and are "
        f"right on {ends(right, share)} of the texts ({counted(firm)})." + left_out(mass)
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
        found = [one for one in findings(every, "detector", measure) if one.firm]
        hit = [one for one in found if flags.get(one.where)]
        rest = [one for one in found if not flags.get(one.where, True)]
        if hit and rest:
            parts.append(f"{words} {_apart(hit, rest)}")
    if not parts:
        return "Signals without knowing the tokens: nothing flagged to compare with, or no rest."
    return f"Without knowing the tokens, flagged models against the others: {'; '.join(parts)}."


def _apart(hit: list[Finding], rest: list[Finding]) -> str:
    """Both ranges, and whether one cut lies between them."""
    apart = max(_means(hit)) < min(_means(rest)) or min(_means(hit)) > max(_means(rest))
    verdict = "separates them" if apart else "does not separate them"
    return f"{_range(hit)} against {_range(rest)}, which {verdict}"


def _range(found: list[Finding]) -> str:
    low, high = number(min(_means(found))), number(max(_means(found)))
    return low if low == high else f"{low} to {high}"


def _means(found: list[Finding]) -> list[float]:
    return [one.mean for one in found if math.isfinite(one.mean)]


PIECE = Piece(
    name="pruthi2020",
    description="attention kept off tokens that models need, and what gives it away",
    make=lines,
    paper="pruthi2020",
)
