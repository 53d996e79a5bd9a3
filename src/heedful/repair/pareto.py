"""Who is dominated: nobody needs a model that another beats in score and property at once."""

from __future__ import annotations

from collections.abc import Mapping

from heedful.repair.estimate import Estimate

RULE = (
    "A method is dominated in a property where another one has at least its score and at least "
    "its property, and one of the two lies beyond its interval."
)
LOWER = frozenset({"exclusivity"})
"""Properties of which less is better: another attention should be near."""


def dominated_by(scores: Mapping[str, Estimate], found: Mapping[str, Estimate], name: str) -> str:
    """The first method that dominates this one, or nothing. Properties are such that more is
    better (`upwards`)."""
    mine = scores[name], found[name]
    for other in found:
        theirs = scores[other], found[other]
        level = all(b.value >= a.value for a, b in zip(mine, theirs, strict=True))
        beyond = any(b.value > a.high for a, b in zip(mine, theirs, strict=True))
        if other != name and level and beyond:
            return other
    return ""


def upwards(name: str, found: Estimate) -> Estimate:
    """Turned so that more is better."""
    if name not in LOWER:
        return found
    return Estimate(-found.value, -found.high, -found.low, found.why)
