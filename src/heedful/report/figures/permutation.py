"""What shuffling attention does to the prediction (as jain2019's Figure 3)."""

from __future__ import annotations

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words, small_multiples
from heedful.report.figures.violins import violins

WORDS = Words(
    "permutation",
    "Shuffled attention (jain2019, Figure 3)",
    "Median change of the predicted probability when a text’s attention weights are shuffled, "
    "by the largest weight before shuffling. First class above its line, second below; all "
    "shapes are drawn equally tall; the dot is the median, n the number of values. Mass at the "
    "left of the upper lines: even peaked attention could be shuffled without consequence.",
    "Median change of output under shuffling",
)


def make(evidence: Evidence) -> Figure:
    rows = evidence.rows("permutation", ["tvd_median"])
    return small_multiples(evidence, rows, WORDS, _panel)


def _panel(rows: pd.DataFrame) -> object:
    return violins(rows, "median change of output", 1.0)


PIECE = Piece(
    name=WORDS.name,
    description="Median change of output under shuffled attention, by the largest weight.",
    make=make,
    paper="jain2019, Figure 3",
    needs=("permutation",),
)
