"""Encoders: embeddings to states, one per token, and states after each deletion without a fresh
start.

Here are the base class, the encoders in which no token sees another (jain2019's `average`, and none
at all, serrano2019), and the wrappers that add a token's own embedding to its state (tutek2020).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelPart
from heedful.errors import HeedfulError

ENTRIES = Entries(ModelPart)

LEAST, MOST = 4, 4096  # of `hidden`
# the released code and the paper's appendix differ
AVERAGE_SIZES = {"code": (128, "tanh"), "paper": (256, "relu")}


@dataclass(frozen=True)
class Readout:
    """The linear map that is first applied to a state. Only its results are needed after a
    deletion, and an encoder may compute them from halves of a state."""

    weight: Float[Tensor, "f d"]
    bias: Float[Tensor, " f"]

    def __call__(self, states: Float[Tensor, "*b d"]) -> Float[Tensor, "*b f"]:
        return nn.functional.linear(states, self.weight, self.bias)


@dataclass(frozen=True)
class Changed:
    """Readouts that some of the deletions changed, `rows` of them: those that stand at the
    positions `index` of the original text (-1 where there is none)."""

    rows: Int[Tensor, " n"]
    index: Int[Tensor, "w n"]
    readouts: Float[Tensor, "w n f"]


@dataclass(frozen=True)
class Deletions:
    """The readouts of whole texts, and `changed(examples[m], positions[m])`: piece by piece, what
    deletions change in them.

    A position comes up once for a deletion. Between the first and the last that do, and the
    deleted one, there is nothing else; outside readouts are unchanged. Each deletion makes at most
    `width` states at a time; None stands for as many as the text has."""

    readouts: Float[Tensor, "b t f"]
    changed: Callable[[Tensor, Tensor], Iterator[Changed]]
    width: int | None = None


@dataclass(frozen=True)
class Encoding:
    """States, and what deletions start from: the embeddings, or what `cache` holds of them."""

    states: Float[Tensor, "b t d"]
    x: Float[Tensor, "b t e"]
    cache: Any = None


class Encoder(nn.Module, ABC):
    """`size` is the width of a state, `directions` the number of ways tokens are read: 0 where
    their order does not count, or in windows only."""

    size: int
    directions: int = 0

    @abstractmethod
    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        """Encode; padding never reaches the states."""

    @abstractmethod
    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Prepare once what all deletions share."""

    @property
    def walks(self) -> bool:
        """Whether it takes a step for each token, in deletions too."""
        return self.directions > 0

    def hidden_for(self, width: int) -> int | None:
        """The `hidden` (the width of one direction) that makes states this wide; None if none
        does."""
        parts = max(1, self.directions)
        return None if width % parts else width // parts


def possible(hidden: int) -> bool:
    """Whether `hidden` is allowed; half of it may be one direction, a kernel or a query."""
    return LEAST <= hidden <= MOST and hidden % 2 == 0


def how_to_fit(encoder: Encoder, width: int) -> str:
    """How to get states of that width; the end of an error's sentence."""
    hidden = encoder.hidden_for(width)
    if hidden is None or not possible(hidden):
        return "no --hidden makes them equal, so choose another encoder or vectors of another width"
    return f"give --hidden {hidden}"


def without_padding(
    x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t e"]:
    """Zeros in padding, whatever was embedded there."""
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x * real[..., None]


class Tokenwise(Encoder):
    """No token sees another, so a deletion changes no state."""

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        return Deletions(readout(encoding.states), lambda *_: iter(()), width=1)


@ENTRIES.entry(
    "per-token linear layer and squashing; no token sees another", name="average", paper="jain2019"
)
class Average(Tokenwise):
    """A linear layer and an activation, each token by itself."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        default, activation = AVERAGE_SIZES[sizes]
        self.size = hidden or default
        widths = [embedding] + [self.size] * layers
        self.layers = nn.ModuleList(starmap(nn.Linear, pairwise(widths)))
        self.activation = torch.tanh if activation == "tanh" else torch.relu

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        states = x
        for layer in self.layers:
            states = self.activation(layer(states))
        return Encoding(states, x)


@ENTRIES.entry(
    "no encoder: states are embeddings; no token sees another", name="none", paper="serrano2019"
)
class PassThrough(Tokenwise):
    """A token's state is its embedding; layers and sizes are ignored."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = embedding

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(without_padding(x, lengths), x)

    def hidden_for(self, width: int) -> int | None:
        return None


class Wrapped(Encoder):
    """An encoder whose states also hold the token's own embedding. A subclass says how the two are
    joined; the join must be linear in both."""

    def __init__(self, inner: Encoder) -> None:
        super().__init__()
        self.inner: Encoder = inner

    @property
    def walks(self) -> bool:
        return self.inner.walks

    @abstractmethod
    def join(self, states: Float[Tensor, "b t s"], x: Float[Tensor, "b t e"]) -> Tensor:
        """A state and the embedding of the same token as one state."""

    @abstractmethod
    def split(self, readout: Readout) -> tuple[Readout, Float[Tensor, "f e"]]:
        """A readout of joined states as a readout of the inner states and a weight for the
        embedding; their results are to be added."""

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

        def changed(examples: Tensor, positions: Tensor) -> Iterator[Changed]:
            for piece in inner.changed(examples, positions):
                there = own[examples[piece.rows], piece.index.clamp_min(0)]
                yield replace(piece, readouts=piece.readouts + there)

        return Deletions(inner.readouts + own, changed, inner.width)


@ENTRIES.entry(
    "the token's embedding added to its state: x + rnn(x)",
    name="residual",
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
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


@ENTRIES.entry(
    "states with the token's embedding beside them: [rnn(x); x]",
    name="concat",
    paper="tutek2020",
    citation="Tutek and Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
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
