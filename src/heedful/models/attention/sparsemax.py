"""Sparsemax in the place of attention's softmax (Martins & Astudillo 2016).

Most tokens get a weight of exactly 0, so the few others are all that the context is made of:
what a reader is shown is what was mixed. States still know of each other through the encoder.
"""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.attention.additive import Additive
from heedful.models.attention.weighting import SPARSEMAX


def sparsemax(size: int) -> Additive:
    return Additive(size, SPARSEMAX)


PIECE = Piece(
    name="sparsemax",
    description="sparsemax of v · tanh(W h + b): most weights are exactly 0",
    make=sparsemax,
    citation="Martins & Astudillo 2016, From Softmax to Sparsemax, ICML",
)
