"""How different attention can be at nearly the same prediction (as jain2019's Figure 4)."""

from __future__ import annotations

import math
from functools import partial

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.figure import Figure
from heedful.report.figures.histogram import Axis, highest, histogram
from heedful.report.figures.panels import Words, small_multiples
from heedful.report.figures.style import KINDS

MEASURES = {
    "jsd_search": ("found by search", KINDS["search"]),
    "jsd_exact": ("largest that exists (exact)", KINDS["exact"]),
    "jsd_entropy_matched": ("found, as spread out as the original", KINDS["matched"]),
}
WORDS = Words(
    "jsd",
    "Different attention, same prediction (jain2019, Figure 4)",
    "Largest Jensen–Shannon distance between a text’s attention and other weights that keep the "
    "prediction within ε. No two distributions are further apart than ln 2 ≈ 0.69 (dashed). The "
    "exact value nears its unconstrained maximum with length alone, so read it beside the "
    "equally spread-out one, and beside the distance between seeds where that was measured.",
    "Adversarial Jensen–Shannon distance",
)
LN2 = math.log(2)
AXIS = Axis("Jensen–Shannon distance", 0.0, LN2, 20, mark=LN2, mark_text="ln 2", room=0.03)


def make(evidence: Evidence) -> Figure:
    rows = evidence.rows("adversarial", list(MEASURES))
    found = [one for one in MEASURES if len(rows) and (rows["measure"] == one).any()]
    colours = {name: colour for name, (_, colour) in MEASURES.items()}
    rows = rows.assign(colour=rows["measure"].map(colours))
    draw = partial(histogram, axis=AXIS, top=highest(rows, AXIS))
    return small_multiples(evidence, rows, WORDS, draw, tuple(MEASURES[one] for one in found))


PIECE = Piece(
    name=WORDS.name,
    description="Histograms of the largest adversarial distance: searched, exact, spread-matched.",
    make=make,
    paper="jain2019, Figure 4",
    needs=("adversarial",),
)
