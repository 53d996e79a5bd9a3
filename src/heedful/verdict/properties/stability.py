"""Stability: do other seeds attend to the same words? Reported."""

from __future__ import annotations

from heedful.verdict.properties.reported import means_of, report
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement, not_measured
from heedful.verdict.table import Table

MEASURES = ("tau_seeds", "jsd_seeds")
UNIT = "tau-b between the maps of different seeds (1: the same order)"


def stability(table: Table, chosen: Settings) -> Statement:
    measured = [cells for cells in means_of(table, MEASURES, chosen) if cells]
    cells = [each for each in measured[0] if each.examples] if measured else []
    if not cells:
        return not_measured("stability", UNIT, "needs the maps of several seeds.")
    return report("stability", UNIT, cells, table, chosen)
