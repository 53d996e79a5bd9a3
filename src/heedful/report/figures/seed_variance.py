"""The distance between seeds by the largest attention weight, drawn like the adversary's."""

from __future__ import annotations

import math
from functools import partial

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words, small_multiples
from heedful.report.figures.violins import violins

WORDS = Words(
    "seed_variance",
    "Attention of other seeds (wiegreffe2019, test 2)",
    "Jensen–Shannon distance between a text’s attention and that of models which differ in their "
    "seed alone (median over seeds), by the largest weight of the first. Drawn like the "
    "adversarial distance, which is to be read against it: mass far to the right says that chance "
    "alone moves attention as far. Dashed: ln 2, the largest distance there is.",
    "Distance between seeds",
)


def make(evidence: Evidence) -> Figure:
    draw = partial(violins, title="Jensen–Shannon distance", high=math.log(2), mark=True)
    return small_multiples(evidence, evidence.rows("seeds", ["jsd_seeds"]), WORDS, draw)


PIECE = Piece(
    name=WORDS.name,
    description="The distance between seeds in four bins of the largest attention weight.",
    make=make,
    paper="wiegreffe2019, test 2",
    needs=("seeds",),
)
