"""Alignment scores of a whole split: made of counts, not a mean over sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from heedful.metrics import COLUMNS, SCORES, bootstrap_statistic
from heedful.types import AttentionRows, SiteSpec

Score = Callable[[Tensor], Tensor]


@dataclass
class Counts:
    """Counts of links by site, by head where heads are told apart, and by example."""

    _parts: dict[tuple[str, str, str], dict[str, np.ndarray]] = field(default_factory=dict)

    def add(
        self, site: SiteSpec, name: str, view: AttentionRows, ids: tuple[str, ...], found: Tensor
    ) -> None:
        """A group is `all`, or the head."""
        numbers = found.cpu().numpy()
        places = zip(view.example.tolist(), view.head.tolist(), strict=True)
        for (example, head), counts in zip(places, numbers, strict=True):
            group = f"head={head}" if name else "all"
            self._parts.setdefault((site.name, name, group), {})[ids[example]] = counts

    def summary(self, seed: int, resamples: int) -> pd.DataFrame:
        """Examples are drawn again by name, so batches and their order change no interval."""
        lines = [
            line for place in sorted(self._parts) for line in self._lines(place, seed, resamples)
        ]
        return pd.DataFrame(lines, columns=COLUMNS)

    def _lines(
        self, place: tuple[str, str, str], seed: int, resamples: int
    ) -> Iterator[dict[str, Any]]:
        site, name, group = place
        counts = np.stack([self._parts[place][example] for example in sorted(self._parts[place])])
        for measure, score in SCORES.items():
            low, high = bootstrap_statistic(_pooled(score), (counts,), seed, resamples)
            yield {
                "site": site,
                "measure": f"{measure}{name}",
                "group": group,
                "n": len(counts),
                "undefined": 0,
                "mean": _pooled(score)(counts),
                "sd": np.nan,
                "median": np.nan,
                "low": low,
                "high": high,
            }


def _pooled(score: Score) -> Callable[[np.ndarray], float]:
    """The score of all links together."""
    return lambda counts: float(score(torch.from_numpy(counts.sum(0))))
