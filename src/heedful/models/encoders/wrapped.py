"""An encoder whose states also hold the token's own embedding (tutek2020)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout, Window
from heedful.models.encoders.padding import without_padding


class Wrapped(Encoder):
    """A subclass says how state and embedding make one; it must be linear in both."""

    def __init__(self, inner: Encoder) -> None:
        super().__init__()
        self.inner: Encoder = inner

    @abstractmethod
    def join(self, states: Float[Tensor, "b t s"], x: Float[Tensor, "b t e"]) -> Tensor:
        """A state and the embedding of the same token as one state."""

    @abstractmethod
    def split(self, readout: Readout) -> tuple[Readout, Float[Tensor, "f e"]]:
        """A readout of joined states as one of the inner states, and what it makes of the
        embedding, to be added."""

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        inner: Encoding = self.inner(x, lengths)
        return Encoding(self.join(inner.states, without_padding(x, lengths)), x, inner)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """A deleted token takes its embedding with it; the others keep theirs."""
        ours, weight = self.split(readout)
        inner = self.inner.deletions(encoding.cache, lengths, ours)
        own = nn.functional.linear(without_padding(encoding.x, lengths), weight)

        def delete(examples: Tensor, positions: Tensor) -> Window:
            window = inner.window(examples, positions)
            there = own[examples[:, None], window.index.clamp_min(0)]
            return replace(window, readouts=window.placed(window.readouts) + there, row=None)

        return Deletions(inner.readouts + own, delete, inner.width)
