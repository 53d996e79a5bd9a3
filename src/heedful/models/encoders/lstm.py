"""A left-to-right LSTM."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.encoders.recurrent import HIDDEN, Recurrent


def make(embedding: int, layers: int, sizes: str, hidden: int | None) -> Recurrent:
    return Recurrent(embedding, layers, hidden or HIDDEN, bidirectional=False)


PIECE = Piece(
    name="lstm",
    description="left-to-right LSTM, 128 wide, one to three layers",
    make=make,
    paper="jain2019",
)
