"""serrano2019's convolutional encoder: kernels 3 and 5 side by side, ReLU.

The paper gives 100 channels; they are read as those of a state, 50 of each kernel, so that a
state is as wide as that of its bidirectional GRU.
"""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.models.encoders.convolution import Convolutions

KERNELS = (3, 5)
CHANNELS = 100


def make(embedding: int, layers: int, sizes: str, hidden: int | None) -> Convolutions:
    return Convolutions(embedding, layers, hidden or CHANNELS, KERNELS)


PIECE = Piece(
    name="conv",
    description="convolutions of width 3 and 5 side by side, 100 channels, ReLU",
    make=make,
    paper="serrano2019",
)
