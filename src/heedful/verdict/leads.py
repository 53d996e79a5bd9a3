"""Who leads whom: explanations are compared on the cells that both were scored by, never on
others. One that is scored without the operator that made it has fewer of them, and an easy
operator would pass for a good explanation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell, cell
from heedful.verdict.contenders import Contenders
from heedful.verdict.formulas import Value
from heedful.verdict.weigh import estimate_of


def choose(part: Contenders) -> str:
    """The one whose smallest lead over any rival is largest: it beats all others where one
    does, else it is beaten by the least. Two that share no cell are no rivals, and one that
    was compared with nobody is chosen only where nobody was."""
    worst = dict.fromkeys(sorted(part), math.inf)
    for one, other in combinations(worst, 2):
        ahead = _mean_lead(shared(part[one], part[other]))
        if not math.isnan(ahead):
            worst[one], worst[other] = min(worst[one], ahead), min(worst[other], -ahead)
    return max(worst, key=lambda name: worst[name] if worst[name] < math.inf else -math.inf)


def shared(one: Sequence[Cell], other: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of both, paired by example: one, other, floor, ceiling."""
    known = {(each.measure, each.operator): each for each in other}
    return tuple(
        _pair(each, known[key]) for each in one if (key := (each.measure, each.operator)) in known
    )


def lead(means: np.ndarray) -> Value:
    """(one − other)/(ceiling − floor)."""
    one, other, floor, ceiling = means.T
    gap = np.where(ceiling == floor, np.nan, ceiling - floor)
    ahead = (one - other) / gap
    return Value(ahead, np.stack([1 / gap, -1 / gap, ahead / gap, -ahead / gap], axis=1))


def others_part(pair: Cell) -> Cell:
    """The other of a pair as a cell of its own: value, floor, ceiling."""
    names, values = pair.names[1:], pair.values[:, 1:]
    return Cell(pair.measure, pair.operator, names, pair.examples, values, 0, pair.sign)


def _mean_lead(pairs: Sequence[Cell]) -> float:
    values = [estimate_of(each.values, lead) for each in pairs]
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _pair(one: Cell, other: Cell) -> Cell:
    names = ("one", "other", "floor", "ceiling")
    if one.examples == other.examples:
        columns = (one.values[:, 0], other.values[:, 0], one.values[:, 1], one.values[:, 2])
        values = np.stack(columns, axis=1)
        return Cell(one.measure, one.operator, names, one.examples, values, 0, one.sign)
    series = (_column(one, 0), _column(other, 0), _column(one, 1), _column(one, 2))
    return cell(one.measure, one.operator, list(zip(names, series, strict=True)), one.sign)


def _column(each: Cell, index: int) -> pd.Series:
    return pd.Series(each.values[:, index], index=list(each.examples), dtype="float64")
