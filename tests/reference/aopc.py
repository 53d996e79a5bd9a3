"""The area over the perturbation curve of one text, as DecompX (Modarressi et al. 2023) has it, and
integrated gradients in few even steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, sqrt


def curve(p: Callable[[set[int]], float], scores: Sequence[float]) -> list[float]:
    """The fall of p when the top 10%, 20%, …, 100% of the tokens are masked; `p(masked)`."""
    order = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    falls = []
    for tenth in range(1, 11):
        masked = set(order[: ceil(Fraction(tenth, 10) * len(scores))])
        falls.append(p(set()) - p(masked))
    return falls


Rows = list[list[float]]


def evenly(slopes: Callable[[float], Rows], embedded: Rows, steps: int, norm: bool) -> list[float]:
    """A score for each token; `slopes(share)` are the gradients where the text is scaled by it."""
    scores = []
    for token, values in enumerate(embedded):
        products = []
        for dimension, value in enumerate(values):
            total = sum(slopes(step / steps)[token][dimension] for step in range(1, steps + 1))
            products.append(total / steps * value)
        scores.append(sqrt(sum(x * x for x in products)) if norm else sum(products))
    return scores
