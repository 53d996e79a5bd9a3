"""Exclusivity: how far can attention move without the output noticing? Reported, never required:
that another explanation exists does not refute this one."""

from __future__ import annotations

from dataclasses import replace

from heedful.verdict.properties.reported import means_of, report
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement, not_measured
from heedful.verdict.table import Table

MEASURES = ("jsd_same_output_ratio", "jsd_entropy_matched", "jsd_same_output", "reachable")
SEEDS = "jsd_seeds"
FAR = 0.5
UNIT = "distance of another attention with the same output (1: as far as any attention is)"


def exclusivity(table: Table, chosen: Settings) -> Statement:
    """The distance between seeds is the floor it is read against."""
    measured = [cells for cells in means_of(table, MEASURES, chosen) if cells]
    cells = [each for each in measured[0] if each.examples] if measured else []
    if not cells:
        return not_measured("exclusivity", UNIT, "not measured.")
    found = report("exclusivity", UNIT, cells, table, chosen)
    numbers = dict(found.numbers)
    numbers[f"share above {FAR} ({cells[0].measure})"] = float((cells[0].values > FAR).mean())
    seeds = [each for part in means_of(table, (SEEDS,), chosen) for each in part if each.examples]
    notes = ["values found by a search are lower bounds."]
    if seeds:
        numbers[SEEDS] = float(seeds[0].values.mean())
    else:
        notes.append("the distance between seeds was not measured, so there is no floor.")
    floor = numbers.get(SEEDS, found.floor)
    return replace(found, floor=floor, numbers=numbers, notes=tuple(notes))
