"""Which erasure flips the decision: that of the heaviest item, or of a random one?
(serrano2019, §4.2)"""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.probes.collect import Collector
from heedful.probes.erasure import Erased, erased
from heedful.probes.evidence import Evidence, Findings


def flips(evidence: Evidence) -> Findings:
    """A table of two by two, one cell a measure, so that means are its shares. The random
    item is the one of the probe `erasure`, and undefined are the same rows: of one item, or
    with all weight on one."""
    collector = Collector(evidence.data.ids)
    for each in evidence.resumable("flips"):
        for site in evidence.sites:
            view = each.rows(site)
            collector.add(each, site, view, _cells(erased(each, site, view, evidence.seed)))
    return Findings(collector.rows())


def _cells(found: Erased) -> dict[str, Tensor]:
    before = found.whole.argmax(-1)
    top, other = found.less_top.argmax(-1) != before, found.less_other.argmax(-1) != before
    cells = {
        "flip_both": top & other,
        "flip_top_only": top & ~other,
        "flip_random_only": ~top & other,
        "flip_neither": ~top & ~other,
    }
    return {n: torch.where(found.known, cell.double(), torch.nan) for n, cell in cells.items()}


PIECE = Piece(
    name="flips",
    description="does erasing the heaviest item flip the decision, does erasing a random one",
    make=flips,
    by_text=True,
    version=3,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "flip_both": Measure("1 where either erasure flips the decision", range=SHARE),
        "flip_top_only": Measure(
            "1 where only erasing the heaviest item flips it", True, range=SHARE
        ),
        "flip_random_only": Measure(
            "1 where only erasing the random item flips it", False, range=SHARE
        ),
        "flip_neither": Measure("1 where neither does", range=SHARE),
    },
    formula=(
        "[the decision flips without the heaviest item] × [it flips without a random other "
        "one]: four cells that sum to 1"
    ),
    higher=(
        "of `flip_top_only`: decisions hang on the heaviest item; of `flip_random_only`: on "
        "another one"
    ),
    cost="two runs of what follows attention",
    limits="Most decisions do not hang on one item, and those say nothing about attention.",
)
