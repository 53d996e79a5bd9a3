"""Encoders whose states also hold the token's own embedding (tutek2020): `residual`, `concat`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.entries import ModelPart
from heedful.errors import HeedfulError
from heedful.models.encoders.encoder import (
    Deletions,
    Encoder,
    Encoding,
    Readout,
    Window,
    how_to_fit,
    without_padding,
)


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


RESIDUAL_ENTRY = ModelPart(
    name="residual",
    description="the token's embedding added to its state: x + rnn(x)",
    make=Residual,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)

CONCAT_ENTRY = ModelPart(
    name="concat",
    description="states with the token's embedding beside them: [rnn(x); x]",
    make=Concat,
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
