"""Adversarial distance by the largest attention weight (as jain2019's Figure 5)."""

from __future__ import annotations

import math
from functools import partial

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.figures.figure import Figure
from heedful.report.figures.panels import Words, small_multiples
from heedful.report.figures.violins import violins

HOW = {"jsd_search": "found by search", "jsd_exact": "exact"}


def make(evidence: Evidence) -> Figure:
    """The searched distance, as in the paper; the exact one where no search was run."""
    rows = evidence.rows("adversarial", list(HOW))
    kind = next((one for one in HOW if len(rows) and (rows["measure"] == one).any()), "jsd_search")
    words = Words(
        "jsd_by_max",
        "Adversarial distance and peaked attention (jain2019, Figure 5)",
        f"Largest Jensen–Shannon distance at nearly the same prediction ({HOW[kind]}), by the "
        "largest weight of the original attention; drawn like the shuffling above. Mass near "
        "ln 2 (dashed) on the upper lines: peaked attention, too, could have been elsewhere.",
        f"Adversarial distance ({HOW[kind]})",
    )
    draw = partial(violins, title="Jensen–Shannon distance", high=math.log(2), mark=True)
    kept = rows[rows["measure"] == kind] if len(rows) else rows
    return small_multiples(evidence, kept, words, draw)


PIECE = Piece(
    name="jsd_by_max",
    description="The adversarial distance in four bins of the largest attention weight.",
    make=make,
    paper="jain2019, Figure 5",
    needs=("adversarial",),
)
