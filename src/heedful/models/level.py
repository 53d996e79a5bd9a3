"""One level of a hierarchy: what is below is encoded, and attention mixes the states."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.attention.attention import TokenAttention
from heedful.models.encoders.encoder import Encoder, Encoding
from heedful.models.parts import make_attention, make_encoder
from heedful.specs import ModelSpec
from heedful.types import Mask


class Level(nn.Module):
    """An encoder and the attention over its states."""

    def __init__(self, encoder: Encoder, attention: TokenAttention) -> None:
        super().__init__()
        self.encoder: Encoder = encoder
        self.attention: TokenAttention = attention

    def encode(
        self, x: Float[Tensor, "n l e"], lengths: Int[Tensor, " n"]
    ) -> Float[Tensor, "n l d"]:
        encoding: Encoding = self.encoder(x, lengths)
        return encoding.states

    def weights(self, states: Float[Tensor, "b k d"], mask: Mask) -> Float[Tensor, "b 1 q k"]:
        """A row for each query of the mask; all see the same scores."""
        scores: Tensor = self.attention(states)
        return self.attention.weights(scores[:, None, None].expand(mask.shape), mask)


def make_level(spec: ModelSpec, width: int) -> Level:
    encoder = make_encoder(spec, width)
    return Level(encoder, make_attention(spec, encoder.size))
