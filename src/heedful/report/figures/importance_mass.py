"""How much attention goes until the decision flips, by ranking."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.boxes import boxes
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words

WORDS = Words(
    "importance_mass",
    "Attention removed until the decision flips",
    "The same removals by the attention the removed items had. Far to the left: the decision "
    "flips although nearly all attention is still there. Decisions that never flip are counted "
    "at the right end.",
    "Attention removed at the flip",
)


def make(evidence: Evidence) -> Figure:
    return boxes(evidence, "mass", WORDS, "share of attention removed")


PIECE = Piece(
    name=WORDS.name,
    description="Attention removed until the decision flips, by ranking, none dropped.",
    make=make,
    paper="serrano2019",
    needs=("importance_sets",),
)
