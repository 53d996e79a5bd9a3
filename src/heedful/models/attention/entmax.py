"""1.5-entmax in the place of attention's softmax (Peters et al. 2019): between it and sparsemax."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.attention.additive import Additive
from heedful.models.attention.weighting import ENTMAX


def entmax(size: int) -> Additive:
    return Additive(size, ENTMAX)


PIECE = Piece(
    name="entmax",
    description="1.5-entmax of v · tanh(W h + b): many weights are exactly 0",
    make=entmax,
    citation="Peters et al. 2019, Sparse Sequence-to-Sequence Models, ACL",
)
