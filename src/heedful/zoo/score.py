"""What one audit says about the measures themselves: who is found better than whom."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from heedful.verdict.cell import Cell, best_floor, cell
from heedful.verdict.flips import horizon_times
from heedful.verdict.formulas import first, position
from heedful.verdict.properties.ranking import BETTER
from heedful.verdict.resample import sample
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table
from heedful.verdict.weigh import closed

PLAUSIBLE = "auprc"


def orders(table: Table, chosen: Settings) -> Iterator[dict[str, object]]:
    """For every explanation and metric, +1 where it is found better than attention, −1 where
    worse, 0 where they cannot be told apart (one-sided bounds, paired by text)."""
    outside = {*chosen.floors, chosen.ceiling, chosen.on_trial, ""}
    for measure, operator, wide in _matrices(table, chosen.on_trial):
        for name in sorted(set(map(str, wide.columns)) - outside):
            lead = BETTER.get(measure, 1) * (wide[name] - wide[chosen.on_trial])
            low, high = _bounds(cell(measure, operator, [(name, lead)]), table, chosen)
            found = 1 if low > 0 else -1 if high < 0 else 0
            yield {
                "explanation": name,
                "measure": measure,
                "operator": operator,
                "found": found,
            }


def sides(table: Table, chosen: Settings) -> Iterator[dict[str, object]]:
    """What each metric would say of attention if it were alone: +1 above the smallest effect
    between floor and ceiling, −1 below, 0 undecided."""
    for measure, operator, wide in _matrices(table, chosen.on_trial):
        ceiling = _ceiling(measure, wide, chosen)
        floor = best_floor(wide, chosen.floors, BETTER.get(measure, 1))
        if ceiling is None or not floor:
            continue
        columns = [
            (chosen.on_trial, wide[chosen.on_trial]),
            (floor, wide[floor]),
            ("ceiling", ceiling),
        ]
        each = cell(measure, operator, columns)
        effect = chosen.effect("agreement" if measure.startswith("tau:") else "ranking")
        low, high = _bounds(each, table, chosen, ratio=True)
        said = 1 if low > effect else -1 if high < effect else 0
        yield {"measure": measure, "operator": operator, "said": said}


def _matrices(table: Table, on_trial: str) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Texts × explanations of every metric that scores explanations."""
    for measure in (*BETTER, *table.measures("tau:"), PLAUSIBLE):
        for operator in table.operators(measure):
            wide = table.get(table.main, measure, operator)
            if measure == "flip_share":
                wide = horizon_times(wide, table.get(table.main, "flip_censored", operator))
            if on_trial in wide.columns:
                yield measure, operator, wide


def _ceiling(measure: str, wide: pd.DataFrame, chosen: Settings) -> pd.Series | None:
    """The search's order, or how well another importance measure agrees; none for people."""
    if chosen.ceiling in wide.columns:
        return wide[chosen.ceiling]
    if not measure.startswith("tau:"):
        return None
    others = [n for n in chosen.importance if n in wide.columns and f"tau:{n}" != measure]
    return wide[others].mean(axis=1) if others else None


def _bounds(each: Cell, table: Table, chosen: Settings, ratio: bool = False) -> tuple[float, float]:
    if len(each.examples) < chosen.fewest:
        return -np.inf, np.inf
    _, low, high = closed(
        sample([[each]], table.cluster_of), position if ratio else first, chosen.alpha
    )
    return low, high
