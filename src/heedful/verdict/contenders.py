"""Explanations that may be recommended, on the measures that are usable, in two halves."""

from __future__ import annotations

import hashlib

import numpy as np

from heedful.verdict.cell import Cell
from heedful.verdict.health import drop_reason, gap_reason
from heedful.verdict.properties.direction import direction_cells
from heedful.verdict.properties.importance import MEASURE, importance_cells
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table

Contenders = dict[str, tuple[Cell, ...]]
Keys = frozenset[tuple[str, str]]

IMPORTANCE, DIRECTION = "importance", "direction"
"""The two questions an explanation can answer: which words matter, and what for."""


def contenders(table: Table, question: str, chosen: Settings) -> Contenders:
    """Usable cells of every explanation that answers the question and is neither a baseline nor
    the oracle. Other layers and heads are a question of their own (`sites`)."""
    measures = (MEASURE,) if question == IMPORTANCE else chosen.metrics
    names = {
        str(name)
        for measure in measures
        for operator in table.operators(measure)
        for name in table.get(table.main, measure, operator).columns
    }
    names -= {*chosen.floors, chosen.ceiling, ""}
    names = {name for name in names if not other_site(name, chosen)}
    if question == DIRECTION:
        names &= set(chosen.signed)
    return cells_of(table, question, names, chosen)


def other_site(name: str, chosen: Settings) -> bool:
    """Whether this is the explanation on trial read elsewhere: `attention:layer=0,head=3`."""
    return name != chosen.on_trial and name.partition(":")[0] == chosen.on_trial


def cells_of(table: Table, question: str, names: set[str], chosen: Settings) -> Contenders:
    """The usable cells of these explanations, those that have any."""
    make = importance_cells if question == IMPORTANCE else direction_cells
    usable = _usable(table, question, chosen)
    found = {
        name: tuple(
            each
            for each in make(table, table.main, name, chosen)
            if (each.measure, each.operator) in usable and each.examples
        )
        for name in sorted(names)
    }
    return {name: cells for name, cells in found.items() if cells}


def _usable(table: Table, question: str, chosen: Settings) -> Keys:
    """A matter of baseline and oracle, whichever explanation is scored."""
    make = importance_cells if question == IMPORTANCE else direction_cells
    cluster_of, alpha = table.cluster_of, chosen.alpha
    base, random = (
        {(each.measure, each.operator): each for each in make(table, model, chosen.ceiling, chosen)}
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
