"""The deception corpus with its other task, under a name of its own: studies name corpora."""

from __future__ import annotations

from functools import partial

from heedful.catalogue import Piece
from heedful.corpora import deception

DEFAULTS = deception.DEFAULTS

PIECE = Piece(
    name="deception_occupation",
    description="Generated biographies; gender words, not to be seen on, go with the trade",
    make=partial(deception.read, task="occupation"),
    bounds=deception.BOUNDS,
    version=2,
    paper="pruthi2020",
    licence="part of Heedful",
)
