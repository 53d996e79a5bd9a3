"""Agreement of annotators, pair by pair, as the definitions read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations


def alpha(answers: Sequence[Sequence[object | None]]) -> float:
    """Krippendorff's α by his matrix of coincidences: one row of answers per annotator."""
    coincidences: Counter[tuple[object, object]] = Counter()
    for item in zip(*answers, strict=True):
        given = [each for each in item if each is not None]
        for one, other in permutations(range(len(given)), 2):
            coincidences[given[one], given[other]] += 1 / (len(given) - 1)
    totals: Counter[object] = Counter()
    for (one, _), weight in coincidences.items():
        totals[one] += weight
    n = sum(totals.values())
    seen = sum(weight for (one, other), weight in coincidences.items() if one != other)
    chance = sum(totals[one] * totals[other] for one in totals for other in totals if one != other)
    return 1 - (n - 1) * seen / chance
