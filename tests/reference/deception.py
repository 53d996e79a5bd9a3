"""pruthi2020's penalty and the zeroing of attention, term by term."""

from __future__ import annotations

import math
from collections.abc import Sequence


def penalty(weights: Sequence[Sequence[Sequence[float]]], marks: list[set[int]], how: str) -> float:
    """Of one example: `weights[head][step][token]`, and the marked tokens of each step."""
    steps = []
    for step, marked in enumerate(marks):
        if not marked:
            continue
        heads = [-math.log(1 - sum(head[step][i] for i in marked)) for head in weights]
        steps.append(max(heads) if how == "max" else sum(heads) / len(heads))
    return sum(steps) / len(steps) if steps else 0.0


def share_on(scores: Sequence[float], marked: set[int]) -> float:
    """The share of the scores' magnitude on the marked tokens."""
    return sum(abs(scores[i]) for i in marked) / sum(abs(score) for score in scores)


def zeroed(weights: Sequence[float], marked: set[int]) -> list[float]:
    """No attention on the marked tokens, the rest as large as before."""
    kept = [0.0 if i in marked else weight for i, weight in enumerate(weights)]
    return [weight / (sum(kept) or 1.0) for weight in kept]
