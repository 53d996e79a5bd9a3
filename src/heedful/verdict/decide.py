"""From p-values to decisions: Holm, and how many examples would decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum

from scipy import stats

from heedful.verdict.weigh import Weighed


class Decision(StrEnum):
    """What is said of a statement. REPORTED ones are never decided on; UNUSABLE and NOT MEASURED
    say why there is no decision, INCONCLUSIVE that more texts may bring one."""

    SUPPORTED = "SUPPORTED"
    NOT_SUPPORTED = "NOT SUPPORTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_NEEDED = "NOT NEEDED"
    UNUSABLE = "UNUSABLE"
    NOT_MEASURED = "NOT MEASURED"
    REPORTED = "REPORTED"


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def rejected(
    p_values: Sequence[float], alpha: float, level: Callable[[float], float] = lambda share: share
) -> list[bool]:
    """Holm's step-down: which hypotheses fall. `level` turns a share of alpha into the level
    of this look, where the evidence is looked at more than once."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    fallen = [False] * len(p_values)
    for rank, i in enumerate(order):
        if not p_values[i] <= level(alpha / (len(p_values) - rank)):
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
