"""The area over the perturbation curve of one text, as DecompX (Modarressi et al. 2023) has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil


def curve(p: Callable[[set[int]], float], scores: Sequence[float]) -> list[float]:
    """The fall of p when the top 10%, 20%, …, 100% of the tokens are masked; `p(masked)`."""
    order = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    falls = []
    for tenth in range(1, 11):
        masked = set(order[: ceil(Fraction(tenth, 10) * len(scores))])
        falls.append(p(set()) - p(masked))
    return falls
