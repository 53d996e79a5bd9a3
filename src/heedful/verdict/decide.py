"""What can be said of a statement, and how many examples would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from scipy import stats

from heedful.verdict.weigh import Weighed


class Decision(StrEnum):
    """What is said of a statement. REPORTED ones are never decided on; UNUSABLE and NOT MEASURED
    say why there is no decision, NOT ANSWERED that this kind of explanation does not speak to
    the question, INCONCLUSIVE that more examples may bring a decision."""

    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT SUPPORTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    UNUSABLE = "UNUSABLE"
    NOT_MEASURED = "NOT MEASURED"
    NOT_ANSWERED = "NOT ANSWERED"
    REPORTED = "REPORTED"


def rejected(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Holm's step-down (1979): which hypotheses fall."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    fallen = [False] * len(p_values)
    for rank, i in enumerate(order):
        if not p_values[i] <= alpha / (len(p_values) - rank):
            break
        fallen[i] = True
    return fallen


def needed(weighed: Weighed, threshold: float, alpha: float, power: float = 0.8) -> int | None:
    """About how many clusters would decide, if the estimate stays where it is.

    None where no number of examples would: the estimate sits on the threshold, or other
    seeds alone could carry it across.
    """
    distance = abs(weighed.estimate - threshold)
    if not (distance > 0 and math.isfinite(distance) and math.isfinite(weighed.error)):
        return None
    z = float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(power))
    room = distance**2 - (z * weighed.seed_error) ** 2
    if room <= 0:
        return None
    count = weighed.clusters * (z * weighed.error) ** 2 / room
    unseen = math.log(alpha) / math.log1p(-distance) if distance < 1 else 1.0
    most = max(count, unseen)
    return math.ceil(most) if most < 1e9 else None


def examples_needed(weighed: Weighed, threshold: float, alpha: float, examples: int) -> int | None:
    """About how many examples would decide, and more than there are: `needed` clusters of as many
    examples each as the `examples` measured so far have."""
    clusters = needed(weighed, threshold, alpha)
    if clusters is None:
        return None
    return max(math.ceil(clusters * examples / weighed.clusters), examples + 1)
