"""The toy task `copy` under a name of its own: studies name corpora."""

from __future__ import annotations

from functools import partial

from heedful.catalogue import Piece
from heedful.corpora import toytranslation

DEFAULTS = toytranslation.DEFAULTS

PIECE = Piece(
    name="toy_copy",
    description="Made-up words, the words in their order",
    make=partial(toytranslation.read, task="copy"),
    bounds=toytranslation.BOUNDS,
    version=2,
    paper="pruthi2020",
    kind="generation",
    licence="part of Heedful",
)
