"""Which model to take, by a rule that is stated before looking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from heedful.repair.estimate import Estimate
from heedful.repair.methods import BASE

PROPERTY = "importance"


@dataclass(frozen=True)
class Choice:
    """The method that is taken, and one sentence on what is gained and what it costs."""

    method: str
    sentence: str


def rule(within: float, score: str) -> str:
    return (
        f"The model with the best {PROPERTY} among those whose {score} is no more than "
        f"{100 * within:g} points below the base's; of equals the one named first."
    )


def choose(
    scores: Mapping[str, Estimate], faithful: Mapping[str, Estimate], within: float, score: str
) -> Choice:
    """The base takes part. A method without that number cannot be taken."""
    least = scores[BASE].value - within - 1e-9  # exactly so many points less is still within
    enough = [name for name in scores if scores[name].value >= least]
    known = [name for name in enough if not math.isnan(faithful[name].value)]
    best = max(known, key=lambda name: faithful[name].value, default=BASE)
    return Choice(best, _sentence(best, scores, faithful, within, score))


def _sentence(
    best: str,
    scores: Mapping[str, Estimate],
    faithful: Mapping[str, Estimate],
    within: float,
    score: str,
) -> str:
    points = f"{100 * within:g} points of {score}"
    if math.isnan(faithful[best].value):
        return f"No model has a {PROPERTY} that could be measured here, so the base is kept."
    if best == BASE:
        return (
            f"No method has a better {PROPERTY} than the base ({faithful[BASE].value:.2f}) within "
            f"{points} of it, so the base is kept."
        )
    paid = _paid(100 * (scores[BASE].value - scores[best].value), score)
    return f"{best} {_gain(faithful[BASE], faithful[best])}, and {paid}."


def _paid(points: float, score: str) -> str:
    if round(points, 1) == 0:
        return f"costs no {score}"
    return f"{'costs' if points > 0 else 'gains'} {abs(points):.1f} points of {score}"


def _gain(base: Estimate, best: Estimate) -> str:
    if math.isnan(base.value):
        return f"has a {PROPERTY} of {best.value:.2f}, where the base's could not be measured"
    step = f"from {base.value:.2f} to {best.value:.2f}"
    sure = "beyond both intervals" if best.low > base.high else "but the intervals overlap"
    return f"gains {best.value - base.value:.2f} in {PROPERTY} ({step}, {sure})"
