"""Is a published number reproduced? By the tolerance of its kind, or what trainings leave open.

*Reproduced*: our mean is as near as the largest of the tolerance, the half-width of its 95%
interval over seeds, and the spread that the paper prints. *Consistent but uncertain*: not so
near, but inside the 95% prediction interval of one more training, which is wide where seeds are
few. *Same direction*, for contrasts only: neither, but of the same sign, and the interval of our
mean leaves zero out. Else *not reproduced*. Fewer than three seeds are *too few seeds*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from scipy import stats

from heedful.studies import FRACTIONS, METRICS, dataset_name, printed_scale
from paper_tables.published import Published

REPRODUCED, UNCERTAIN = "reproduced", "consistent but uncertain"
DIRECTION, NOT, FEW = "same direction", "not reproduced", "too few seeds"
SEEDS = 3
"""Fewer say too little about the spread of trainings."""
ENOUGH, MANY = 5, 10
"""Seeds that a cell should have; many where its mean is less certain than the tolerance."""
LEVEL = 0.975
TAU, POINTS, NATS = 0.06, 2.0, 0.06


@dataclass(frozen=True)
class Judged:
    """A cell and what was measured of it, in the paper's unit; one value per seed. `texts` are
    on how many each was measured, `size` is whether the study was run in full."""

    cell: Published
    measured: tuple[float, ...]
    texts: tuple[int, ...] = ()
    size: str = "full"

    @property
    def seeds(self) -> int:
        return len(self.measured)

    @property
    def mean(self) -> float:
        return math.fsum(self.measured) / self.seeds

    @property
    def sd(self) -> float:
        """Over seeds."""
        total = math.fsum((value - self.mean) ** 2 for value in self.measured)
        return math.sqrt(total / (self.seeds - 1)) if self.seeds > 1 else math.nan

    @property
    def around(self) -> float:
        """Half of the interval in which one more training is expected."""
        return self._t * self.sd * math.sqrt(1 + 1 / self.seeds)

    @property
    def of_mean(self) -> float:
        """Half of Student's interval of the mean."""
        return self._t * self.sd / math.sqrt(self.seeds)

    @property
    def near(self) -> float:
        """How far from our mean a published number may be to count as reproduced."""
        return max(self.of_mean, tolerance(self.cell), self.cell.sd or 0.0)

    @property
    def difference(self) -> float:
        """From the nearest of the published versions."""
        return min((self.mean - value for _, value in self.cell.values), key=abs)

    @property
    def close(self) -> bool:
        """Within the tolerance, however much trainings differ."""
        return self.seeds >= SEEDS and abs(self.difference) <= tolerance(self.cell)

    @property
    def softly(self) -> float:
        """The tolerance around every mean that ours may stand for."""
        return self.of_mean + max(tolerance(self.cell), self.cell.sd or 0.0)

    @property
    def wanted(self) -> int:
        """How many seeds it should have."""
        return MANY if not self.of_mean <= tolerance(self.cell) else ENOUGH

    def explains(self, other: Judged) -> bool:
        """Whether it is clearly nearer to the published number than the other: seeds enough, and
        nearer by more than its own mean is uncertain."""
        gain = abs(other.difference) - abs(self.difference)
        return self.seeds >= SEEDS and gain > self.of_mean

    @property
    def judgement(self) -> str:
        if self.seeds < SEEDS:
            return FEW
        if abs(self.difference) <= self.near:
            return REPRODUCED
        if abs(self.difference) <= self.around:
            return UNCERTAIN
        return DIRECTION if self.cell.contrast and self._same_direction else NOT

    @property
    def _same_direction(self) -> bool:
        signs = {math.copysign(1, value) for _, value in self.cell.values if value}
        clear = abs(self.mean) > self.of_mean
        return clear and signs == {math.copysign(1, self.mean)}

    @property
    def _t(self) -> float:
        return float(stats.t.ppf(LEVEL, self.seeds - 1)) if self.seeds > 1 else math.nan


def tolerance(cell: Published) -> float:
    """0.06 for τ and the share of texts whose τ is significant, two points for scores, changes
    of scores and probabilities, 0.06 nats for mutual information."""
    if cell.metric.startswith("tau_"):
        return TAU
    if cell.metric.startswith("mutual_information"):
        return NATS
    fraction = cell.paper in FRACTIONS or cell.metric == "token_probability"
    return POINTS / 100 if fraction else POINTS


def share(judged: Sequence[Judged]) -> float:
    """Of those with seeds enough, reproduced."""
    enough = [each for each in judged if each.judgement != FEW]
    good = sum(each.judgement == REPRODUCED for each in enough)
    return good / len(enough) if enough else math.nan


# Which rows measure a published cell.


def judged(cells: Sequence[Published], rows: pd.DataFrame) -> list[Judged]:
    """The cells that were measured, each with its seeds."""
    named = rows.assign(dataset=[dataset_name(str(corpus)) for corpus in rows["corpus"]])
    places = dict(list(named.groupby(["paper", "dataset", "model", "probe", "measure"])))
    found = []
    for cell in cells:
        if cell.metric in METRICS:
            place = (cell.paper, cell.dataset, cell.model, *METRICS[cell.metric])
            lines = places.get(place)
            each = None if lines is None else _judged(cell, lines)
            if each is not None:
                found.append(each)
    return found


def _judged(cell: Published, lines: pd.DataFrame) -> Judged | None:
    """By seed, in the paper's unit. Of a class where the paper has classes; runs in full come
    before small ones, and the two are never mixed."""
    group = "all" if cell.label == "all" else f"class={cell.label}"
    kept = lines[(lines["group"] == group) & lines["mean"].notna()]
    size = next((size for size in ("full", "small") if (kept["size"] == size).any()), None)
    if size is None:
        return None
    chosen = kept[kept["size"] == size].sort_values("seed")
    scale = printed_scale(cell.paper, cell.metric)
    values = tuple(scale * float(value) for value in chosen["mean"])
    return Judged(cell, values, tuple(map(int, chosen["n"])), size)
