"""A property by predicted class, length and confidence: a mean can hide two halves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell
from heedful.verdict.formulas import Formula
from heedful.verdict.resample import Clusters, sample
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Stratum
from heedful.verdict.weigh import closed

Checkpoints = Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Strata:
    by_class: tuple[Stratum, ...]
    by_length: tuple[Stratum, ...]
    by_confidence: tuple[Stratum, ...]
    macro: float
    warnings: tuple[str, ...]


def strata(
    cells: Checkpoints, formula: Formula, examples: pd.DataFrame, threshold: float, chosen: Settings
) -> Strata:
    """Quarters are of the examples that were measured; equal ones share a quarter."""
    used = sorted({name for part in cells for cell in part for name in cell.examples})
    known = examples.loc[used]
    cluster_of = dict(zip(used, known["cluster"], strict=True))

    def table(groups: pd.Series, what: str) -> tuple[Stratum, ...]:
        return tuple(_strata(cells, formula, groups, cluster_of, what, chosen))

    by_class = table(known["predicted"], "class")
    return Strata(
        by_class,
        table(_quarters(known["length"]), "length"),
        table(_quarters(known["confidence"]), "confidence"),
        _macro(by_class),
        _disagreement(by_class, threshold, chosen.fewest),
    )


def _strata(
    cells: Checkpoints,
    formula: Formula,
    groups: pd.Series,
    cluster_of: Clusters,
    what: str,
    chosen: Settings,
) -> Iterator[Stratum]:
    for group in sorted(groups.dropna().unique()):
        inside = set(groups.index[groups == group])
        part = [[_inside(cell, inside) for cell in checkpoint] for checkpoint in cells]
        if any(len(cell.examples) == 0 for checkpoint in part for cell in checkpoint):
            continue
        drawn = sample(part, cluster_of)
        value, low, high = closed(drawn, formula, chosen.alpha)
        members = {name for checkpoint in part for cell in checkpoint for name in cell.examples}
        yield Stratum(f"{what}={int(group)}", value, low, high, len(members), drawn.clusters)


def _inside(cell: Cell, names: set[str]) -> Cell:
    return cell.take(np.array([name in names for name in cell.examples], dtype=bool))


def _quarters(values: pd.Series) -> pd.Series:
    known = values.dropna()
    if known.empty:
        return values
    edges = np.quantile(known, [0.25, 0.5, 0.75])
    return pd.Series(np.searchsorted(edges, known) + 1, index=known.index)


def _macro(by_class: tuple[Stratum, ...]) -> float:
    """Each predicted class counts the same, however many examples it has."""
    values = [each.estimate for each in by_class if not math.isnan(each.estimate)]
    return float(np.mean(values)) if values else math.nan


def _disagreement(by_class: tuple[Stratum, ...], threshold: float, fewest: int) -> tuple[str, ...]:
    """Classes on clearly different sides of the threshold."""
    enough = [each for each in by_class if each.clusters >= fewest]
    above = [each.group for each in enough if each.low > threshold]
    below = [each.group for each in enough if each.high < threshold]
    if not (above and below):
        return ()
    return (f"predicted classes disagree: {', '.join(above)} above, {', '.join(below)} below.",)
