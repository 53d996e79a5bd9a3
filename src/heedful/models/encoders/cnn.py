"""jain2019's convolutional encoder: kernels 1, 3, 5, 7 side by side, ReLU."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.encoders.convolution import Convolutions

KERNELS = (1, 3, 5, 7)
FILTERS = {"code": 32, "paper": 64}


class Cnn(Convolutions):
    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__(embedding, layers, hidden or FILTERS[sizes] * len(KERNELS), KERNELS)


PIECE = Piece(
    name="cnn",
    description="convolutions of width 1, 3, 5, 7 side by side, ReLU",
    make=Cnn,
    paper="jain2019",
)
