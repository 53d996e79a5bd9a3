"""The toy task `reverse` under a name of its own: studies name corpora."""

from __future__ import annotations

from functools import partial

from heedful.catalogue import Piece
from heedful.corpora import toytranslation

DEFAULTS = toytranslation.DEFAULTS

PIECE = Piece(
    name="toy_reverse",
    description="Made-up words, the words from the last to the first",
    make=partial(toytranslation.read, task="reverse"),
    bounds=toytranslation.BOUNDS,
    version=2,
    paper="pruthi2020",
    kind="generation",
    licence="part of Heedful",
)
