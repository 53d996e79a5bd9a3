"""How far annotators agree: Cohen's κ of each two, Krippendorff's α of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.annotate.database import RELEVANCE
from heedful.annotate.study import Study
from heedful.annotate.values import JUDGEMENTS
from heedful.metrics import Interval, bootstrap_statistic, cohen_kappa, krippendorff

Block = NDArray[np.float64]
RESAMPLES = 300


@dataclass(frozen=True)
class Pair:
    """Two annotators, the items both have answered, and κ over these."""

    one: str
    other: str
    items: int
    kappa: float


@dataclass(frozen=True)
class Agreement:
    pairs: tuple[Pair, ...]
    alpha: float
    interval: Interval

    @property
    def mean_kappa(self) -> float:
        """Over the pairs that have one."""
        known = [pair.kappa for pair in self.pairs if pair.kappa == pair.kappa]
        return float(np.mean(known)) if known else float("nan")


def agreement(study: Study, answers: Mapping[str, Mapping[int, Any]], seed: int = 0) -> Agreement:
    """What is judged is an item, or each word of it: was it marked? α's interval comes from
    drawing items again, with all their words."""
    names = [name for name in answers if answers[name]]
    items = sorted({item for name in names for item in answers[name]})
    blocks = [_block(study, item, [answers[name].get(item) for name in names]) for item in items]
    pairs = tuple(
        _pair((names[i], names[j]), [block[[i, j]] for block in blocks])
        for i, j in combinations(range(len(names)), 2)
    )
    several = [block for block in blocks if (~np.isnan(block)).any(1).sum() > 1]
    if not several:
        return Agreement(pairs, float("nan"), Interval(float("nan"), float("nan")))

    def drawn(chosen: NDArray[np.int64]) -> float:
        return krippendorff(np.concatenate([several[i] for i in chosen], axis=1))

    everything = np.arange(len(several))
    interval = bootstrap_statistic(drawn, (everything,), seed, RESAMPLES)
    return Agreement(pairs, drawn(everything), interval)


def _pair(names: tuple[str, str], blocks: Sequence[Block]) -> Pair:
    both = [block for block in blocks if not np.isnan(block).any()]
    if not both:
        return Pair(*names, 0, float("nan"))
    one, other = np.concatenate(both, axis=1).astype(np.int64)
    return Pair(*names, len(both), cohen_kappa(one, other))


def _block(study: Study, item: int, said: Sequence[Any]) -> Block:
    """[annotators, units] of one item; NaN for who has not answered."""
    if study.task == RELEVANCE:
        numbers = [[np.nan if v is None else JUDGEMENTS.index(v)] for v in said]
        return np.array(numbers, dtype=np.float64)
    length = study.items[item].length
    block = np.full((len(said), length), np.nan)
    for row, words in enumerate(said):
        if words is not None:
            block[row] = 0.0
            block[row, words] = 1.0
    return block
