"""tutek2020's `residual`: the embeddings are added to the states."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.models.encoders.encoder import Encoder, Readout
from heedful.models.encoders.widths import how_to_fit
from heedful.models.encoders.wrapped import Wrapped


class Residual(Wrapped):
    """x + rnn(x)."""

    def __init__(self, inner: Encoder, embedding: int) -> None:
        super().__init__(inner)
        if inner.size != embedding:
            raise HeedfulError(
                f"residual adds embeddings to states, and they are {embedding} and {inner.size} "
                f"wide: {how_to_fit(inner, embedding)}."
            )
        self.size = inner.size

    def hidden_for(self, width: int) -> int | None:
        """Embeddings do not grow with it."""
        return self.inner.hidden_for(width) if width == self.size else None

    def join(self, states: Float[Tensor, "b t s"], x: Float[Tensor, "b t e"]) -> Tensor:
        return states + x

    def split(self, readout: Readout) -> tuple[Readout, Float[Tensor, "f e"]]:
        return readout, readout.weight


PIECE = Piece(
    name="residual",
    description="the token's embedding added to its state: x + rnn(x)",
    make=Residual,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
