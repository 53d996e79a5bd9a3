"""How alike attention and gradients order the words (as jain2019's Figure 2)."""

from __future__ import annotations

from functools import partial

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.figure import Figure
from heedful.report.figures.histogram import Axis, highest, histogram
from heedful.report.figures.panels import Words, folded, small_multiples
from heedful.report.figures.style import class_colour

WORDS = Words(
    "tau_gradient",
    "Attention against gradients (jain2019, Figure 2)",
    "Kendall’s τ between attention and gradient importance, one value per text, by predicted "
    "class; each colour adds up to 100%. At 1 both order the words alike, at 0 (dashed) they "
    "are unrelated.",
    "Kendall τ of attention and gradients",
)
AXIS = Axis("Kendall τ", -1.0, 1.0, 20, mark=0.0)


def make(evidence: Evidence) -> Figure:
    rows = folded(evidence, evidence.rows("correlation", ["tau_gradient"]))
    rows = rows.assign(colour=rows["predicted"].map(class_colour))
    draw = partial(histogram, axis=AXIS, top=highest(rows, AXIS))
    return small_multiples(evidence, rows, WORDS, draw)


PIECE = Piece(
    name=WORDS.name,
    description="Histograms of Kendall τ between attention and gradients, by predicted class.",
    make=make,
    paper="jain2019, Figure 2",
    needs=("correlation",),
)
