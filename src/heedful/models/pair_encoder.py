"""Two texts to the states of the first and a query made of the second."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.encoders.bigru import Gru
from heedful.models.encoders.encoder import Encoder
from heedful.models.encoders.orthogonal import Orthogonal
from heedful.models.encoders.recurrent import Recurrent
from heedful.models.one_sequence import visible
from heedful.types import Text


@dataclass(frozen=True)
class Encoded:
    states: Float[Tensor, "b t d"]
    query: Float[Tensor, "b d"]


class PairEncoder(nn.Module, ABC):
    """`size` is the width of a state and of the query."""

    size: int

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded: ...


class Separate(PairEncoder):
    """An encoder for each text, neither of which sees the other (jain2019)."""

    def __init__(self, a: Encoder, b: Encoder) -> None:
        super().__init__()
        self.size = a.size
        self.a: Encoder = a
        self.b: Encoder = b

    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded:
        other = self.b(y, b.lengths).states
        return Encoded(self.a(x, a.lengths).states, query_of(self.b, other, b))


@singledispatch
def query_of(encoder: object, states: Float[Tensor, "b u d"], text: Text) -> Float[Tensor, "b d"]:
    """The mean over the text's tokens, where states are not read in an order. jain2019 names
    the last state only, and for encoders without one says nothing."""
    seen = visible(text)[..., None].to(states.dtype)
    total = torch.where(seen > 0, states, 0.0).sum(1)
    return total / seen.sum(1).clamp_min(1)


@query_of.register
def last_of_lstm(encoder: Recurrent, states: Tensor, text: Text) -> Tensor:
    layer = encoder.stack[-1]
    assert isinstance(layer, nn.LSTM)
    return last_states(states, text, layer.bidirectional)


@query_of.register
def last_of_gru(encoder: Gru, states: Tensor, text: Text) -> Tensor:
    return last_states(states, text, True)


@query_of.register
def last_of_orthogonal(encoder: Orthogonal, states: Tensor, text: Text) -> Tensor:
    return last_states(states, text, False)


def last_states(
    states: Float[Tensor, "b u d"], text: Text, bidirectional: bool
) -> Float[Tensor, "b d"]:
    """What each direction ends with: the one at the end of the text, the other at its start."""
    examples = torch.arange(len(states), device=states.device)
    end = states[examples, text.lengths - 1]
    if not bidirectional:
        return end
    forth, back = end.chunk(2, -1)[0], states[:, 0].chunk(2, -1)[1]
    return torch.cat([forth, back], -1)
