"""Exclusivity: how far can attention move without the output noticing? Reported, never required:
that another explanation exists does not refute this one."""

from __future__ import annotations

import math
from dataclasses import replace

from heedful.verdict.evaluation import Property, means_of, report_means
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Decision, Statement
from heedful.verdict.table import Table

RATIO = "jsd_same_output_ratio"
MEASURES = (RATIO, "jsd_entropy_matched", "jsd_same_output", "reachable")
SEEDS, SEEDS_RATIO = "jsd_seeds", "jsd_seeds_ratio"
FAR = 0.5
OF_WORDS = (
    "the floor is the distance between seeds over words, as a share of the furthest that any "
    "attention to the same words is."
)
NO_FLOOR = "the distance between seeds was not measured, so there is no floor."
OTHER_UNIT = "the distance between seeds is in another unit than the estimate: it is no floor."


def exclusivity(table: Table, chosen: Settings) -> Statement:
    """The distance between seeds is the floor it is read against, where it is in the same unit:
    a share of the furthest."""
    found = report_means(EXCLUSIVITY, MEASURES, table, chosen)
    if found.decision is Decision.NOT_MEASURED:
        return found
    own = next(each for each in means_of(MEASURES, table, chosen)[0] if each.examples)
    seeds = _seeds(table, chosen)
    floor = seeds.get(SEEDS_RATIO, NAN) if own.measure == RATIO else NAN
    far = {f"share above {FAR} ({own.measure})": float((own.values > FAR).mean())}
    about = OF_WORDS if not math.isnan(floor) else OTHER_UNIT if seeds else NO_FLOOR
    notes = ("values found by a search are lower bounds.", about)
    return replace(found, floor=floor, numbers={**found.numbers, **far, **seeds}, notes=notes)


EXCLUSIVITY = Property(
    name="exclusivity",
    order=6,
    question="Is there another attention with the same output?",
    unit="distance of another attention with the same output (1: as far as any attention is)",
    evaluate=exclusivity,
    missing="not asked for.",
)


def _seeds(table: Table, chosen: Settings) -> dict[str, float]:
    """The first checkpoint's distances to the others."""
    found: dict[str, float] = {}
    for each in (each for part in means_of((SEEDS, SEEDS_RATIO), table, chosen) for each in part):
        if each.examples:
            found.setdefault(each.measure, float(each.values.mean()))
    return found
