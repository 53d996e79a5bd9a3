"""How many of the planted words each explanation finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.auditing import Decisions, all_named, explained
from heedful.metrics import bootstrap_means, mean_rank, precision_at_k
from heedful.subjects import Subject, groups
from heedful.words import word_mask

TOKENS, TEXTS = 2048, 32  # at once


@dataclass(frozen=True)
class Found:
    """`[n, 2]` by explanation: precision@k and mean rank of each text."""

    numbers: dict[str, NDArray[np.float64]]
    skipped: dict[str, str]


def find_words(subject: Subject, places: Sequence[int], explanations: Sequence[str]) -> Found:
    """The texts at these places of the subject: each explains the class its label names."""
    chosen, wanted = np.array(places, dtype=np.int64), all_named(explanations)
    numbers = {each.name: np.full((len(places), 2), np.nan) for each in wanted}
    skipped: dict[str, str] = {}
    for group in groups(subject.lengths[chosen], TOKENS, TEXTS):
        batch = subject.encode(chosen[group])
        there = word_mask(batch.texts["a"])
        truth = _truth(subject, chosen[group], there)
        made = Decisions(subject.model, batch, batch.labels)
        result = explained(made, wanted, "probability", skipped)
        skipped = result.skipped
        for name, scores in result.maps.items():
            both = (precision_at_k(scores, truth, there), mean_rank(scores, truth, there))
            numbers[name][group] = torch.stack(both, dim=-1).cpu().numpy()
    for name in skipped:
        del numbers[name]
    return Found(numbers, skipped)


def summaries(found: Found, seed: int) -> list[dict[str, Any]]:
    """A row for each explanation: means over texts with 95% intervals (bootstrap over texts)."""
    rows = []
    for name, numbers in found.numbers.items():
        low, high = bootstrap_means(numbers, seed)
        row: dict[str, Any] = {"explanation": name, "texts": len(numbers)}
        for place, measure in enumerate(("precision", "rank")):
            row[measure] = float(numbers[:, place].mean())
            row[f"{measure}_low"], row[f"{measure}_high"] = float(low[place]), float(high[place])
        rows.append(row)
    return rows


def _truth(subject: Subject, places: NDArray[np.int64], there: Tensor) -> Tensor:
    truth = torch.zeros_like(there)
    for row, place in enumerate(places):
        marks = subject.documents[int(place)].rationale or ()
        truth[row, : len(marks)] = torch.tensor(marks[: there.shape[1]], device=there.device)
    return truth
