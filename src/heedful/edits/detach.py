"""The learned weights, but no gradient flows through them (jain2019's gradients)."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.types import Edit


def detach() -> Edit:
    return lambda call: call.weights.detach()


PIECE = Piece(
    name="detach",
    description="the learned weights as constants: no gradient flows through attention",
    make=detach,
    paper="jain2019",
)
