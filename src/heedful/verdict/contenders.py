"""Explanations that may be recommended, on the measures that are usable, in two halves."""

from __future__ import annotations

import hashlib

import numpy as np

from heedful.verdict.cell import Cell
from heedful.verdict.health import drop_reason, gap_reason
from heedful.verdict.properties.ranking import ranking_cells
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table

Contenders = dict[str, tuple[Cell, ...]]
Keys = frozenset[tuple[str, str]]


def contenders(table: Table, chosen: Settings) -> Contenders:
    """Usable cells of every explanation that is neither a floor nor the ceiling."""
    outside = {*chosen.floors, chosen.ceiling, ""}
    names = {
        str(name)
        for measure in chosen.metrics
        for operator in table.operators(measure)
        for name in table.get(table.main, measure, operator).columns
    }
    usable = _usable(table, chosen)
    found: Contenders = {}
    for name in sorted(names - outside):
        cells = tuple(
            each
            for each in ranking_cells(table, table.main, name, chosen)
            if (each.measure, each.operator) in usable and each.examples
        )
        if cells:
            found[name] = cells
    return found


def _usable(table: Table, chosen: Settings) -> Keys:
    """Health is a matter of floor and ceiling, whichever explanation is scored."""
    cluster_of, alpha = table.cluster_of, chosen.alpha
    base, random = (
        {
            (each.measure, each.operator): each
            for each in ranking_cells(table, model, chosen.ceiling, chosen)
        }
        for model in (table.main, "randomised")
    )
    return frozenset(
        key
        for key, each in base.items()
        if each.examples
        and not gap_reason(each, chosen.smallest_gap, cluster_of, alpha)
        and not drop_reason(each, random.get(key), (2, 1), cluster_of, alpha)
    )


def half_of(cluster: str) -> int:
    """0: to choose on, 1: to report on; the same everywhere and always."""
    return hashlib.blake2b(cluster.encode(), digest_size=1).digest()[0] & 1


def half(cells: Contenders, table: Table, side: int) -> Contenders:
    """The cells on one half of the clusters."""
    halves = {name: half_of(str(key)) for name, key in table.cluster_of.items()}

    def inside(each: Cell) -> Cell:
        return each.take(np.array([halves[name] == side for name in each.examples], dtype=bool))

    return {name: tuple(inside(each) for each in mine) for name, mine in cells.items()}
