"""How many items go until the decision flips, by ranking (as serrano2019's box plots)."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.boxes import boxes
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words

WORDS = Words(
    "importance_sets",
    "Items removed until the decision flips (serrano2019)",
    "Share of items that lose their attention, in the order of a ranking, before the decision "
    "flips. Further to the left: the ranking finds what the decision rests on sooner. Attention "
    "that tells importance would lie left of the random order, and not right of the gradient’s. "
    "Decisions that never flip are counted as not yet flipped; their share stands at the right.",
    "Share of items removed at the flip",
)


def make(evidence: Evidence) -> Figure:
    return boxes(evidence, "fraction", WORDS, "share of items removed")


PIECE = Piece(
    name=WORDS.name,
    description="Share of items removed until the decision flips, by ranking, none dropped.",
    make=make,
    paper="serrano2019",
    needs=("importance_sets",),
)
