"""Exclusivity: how far can attention move without the output noticing? Reported, never required:
that another explanation exists does not refute this one."""

from __future__ import annotations

import math
from dataclasses import replace

from heedful.verdict.properties.reported import means_of, report
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Statement, not_measured
from heedful.verdict.table import Table

RATIO = "jsd_same_output_ratio"
MEASURES = (RATIO, "jsd_entropy_matched", "jsd_same_output", "reachable")
SEEDS, SEEDS_RATIO = "jsd_seeds", "jsd_seeds_ratio"
FAR = 0.5
UNIT = "distance of another attention with the same output (1: as far as any attention is)"
OF_WORDS = (
    "the floor is the distance between seeds over words, as a share of the furthest that any "
    "attention to the same words is."
)
NO_FLOOR = "the distance between seeds was not measured, so there is no floor."
OTHER_UNIT = "the distance between seeds is in another unit than the estimate: it is no floor."


def exclusivity(table: Table, chosen: Settings) -> Statement:
    """The distance between seeds is the floor it is read against, where it is in the same unit:
    a share of the furthest."""
    measured = [cells for cells in means_of(table, MEASURES, chosen) if cells]
    cells = [each for each in measured[0] if each.examples] if measured else []
    if not cells:
        return not_measured("exclusivity", UNIT, "not asked for.")
    found = report("exclusivity", UNIT, cells, table, chosen)
    seeds = _seeds(table, chosen)
    floor = seeds.get(SEEDS_RATIO, NAN) if cells[0].measure == RATIO else NAN
    far = {f"share above {FAR} ({cells[0].measure})": float((cells[0].values > FAR).mean())}
    notes = ("values found by a search are lower bounds.", _about(floor, seeds))
    return replace(found, floor=floor, numbers={**found.numbers, **far, **seeds}, notes=notes)


def _seeds(table: Table, chosen: Settings) -> dict[str, float]:
    """The first checkpoint's distances to the others."""
    found: dict[str, float] = {}
    for each in (each for part in means_of(table, (SEEDS, SEEDS_RATIO), chosen) for each in part):
        if each.examples:
            found.setdefault(each.measure, float(each.values.mean()))
    return found


def _about(floor: float, seeds: dict[str, float]) -> str:
    if not math.isnan(floor):
        return OF_WORDS
    return OTHER_UNIT if seeds else NO_FLOOR
