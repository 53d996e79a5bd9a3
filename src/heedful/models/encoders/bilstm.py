"""A bidirectional LSTM (jain2019: 128 per direction)."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.encoders.recurrent import HIDDEN, Recurrent


def make(embedding: int, layers: int, sizes: str, hidden: int | None) -> Recurrent:
    return Recurrent(embedding, layers, hidden or HIDDEN, bidirectional=True)


PIECE = Piece(
    name="bilstm",
    description="bidirectional LSTM, 128 per direction, one to three layers",
    make=make,
    paper="jain2019",
)
