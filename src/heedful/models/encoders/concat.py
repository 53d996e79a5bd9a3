"""tutek2020's `concat`: states with the embeddings beside them."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.models.encoders.encoder import Encoder, Readout
from heedful.models.encoders.wrapped import Wrapped


class Concat(Wrapped):
    """[rnn(x); x]."""

    def __init__(self, inner: Encoder, embedding: int) -> None:
        super().__init__(inner)
        self.size = inner.size + embedding

    def hidden_for(self, width: int) -> int | None:
        return self.inner.hidden_for(width - self.size + self.inner.size)

    def join(self, states: Float[Tensor, "b t s"], x: Float[Tensor, "b t e"]) -> Tensor:
        return torch.cat([states, x], -1)

    def split(self, readout: Readout) -> tuple[Readout, Float[Tensor, "f e"]]:
        size = self.inner.size
        return Readout(readout.weight[:, :size], readout.bias), readout.weight[:, size:]


PIECE = Piece(
    name="concat",
    description="states with the token's embedding beside them: [rnn(x); x]",
    make=Concat,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
