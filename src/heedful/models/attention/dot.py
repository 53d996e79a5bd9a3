"""Scaled dot attention with a learned query: q · h / √d.

The query starts from N(0, 1); PyTorch's default for a linear layer is so small that
attention stays uniform (tutek2020).
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.attention.attention import TokenAttention


class Dot(TokenAttention):
    def __init__(self, size: int, scale: float | None = None) -> None:
        super().__init__()
        self.scale = size**0.5 if scale is None else scale
        self.query = nn.Parameter(torch.randn(size))

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.query[None] / self.scale, self.query.new_zeros(1)

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        return features.squeeze(-1)


PIECE = Piece(
    name="dot",
    description="learned query · h / √d, query drawn from N(0, 1)",
    make=Dot,
    paper="jain2019",
    citation="Vaswani et al. 2017; initialisation tutek2020",
)
