"""No encoder (serrano2019): a token's state is its embedding."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from heedful.catalogue import Piece
from heedful.models.encoders.alone import unchanged
from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout
from heedful.models.encoders.padding import without_padding


class PassThrough(Encoder):
    """As wide as the embedding: layers and sizes have nothing to say here."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = embedding

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(without_padding(x, lengths), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        return unchanged(encoding, readout)

    def hidden_for(self, width: int) -> int | None:
        return None


PIECE = Piece(
    name="none",
    description="no encoder: states are embeddings; no token sees another",
    make=PassThrough,
    paper="serrano2019",
)
