"""Words that a revision changed, and scores against them, straight from the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence


def average_precision(scores: Sequence[float], marks: Sequence[bool]) -> float:
    """Each marked word adds the precision among the words that score at least as much."""
    found = []
    for score, mark in zip(scores, marks, strict=True):
        if mark:
            above = [other for one, other in zip(scores, marks, strict=True) if one >= score]
            found.append(sum(above) / len(above))
    return sum(found) / len(found)


def auroc(masses: Sequence[float], flips: Sequence[bool]) -> float:
    """Over all pairs of a revision that flips and one that does not."""
    ours = [mass for mass, flip in zip(masses, flips, strict=True) if flip]
    theirs = [mass for mass, flip in zip(masses, flips, strict=True) if not flip]
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in ours for b in theirs]
    return sum(wins) / len(wins) if wins else math.nan
