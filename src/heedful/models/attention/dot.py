"""Dot attention: the query is learned, or comes from elsewhere.

A learned query starts from N(0, 1); PyTorch's default for a linear layer is so small that
attention stays uniform (tutek2020). Divided by √d, attention begins nearly even, and where that
is good enough it may stay so: every state then learns to carry the class, and it no longer
matters which is looked at (tutek2020, appendix C, of a query that starts too small). So there is
`plain_dot`, which is not scaled and sharp from the start.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import ModelPart
from heedful.models.attention.attention import QueryAttention, TokenAttention


class Dot(TokenAttention):
    """q · h / √d, or over another scale."""

    def __init__(self, size: int, scale: float | None = None) -> None:
        super().__init__()
        self.scale = size**0.5 if scale is None else scale
        self.query = nn.Parameter(torch.randn(size))

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.query[None] / self.scale, self.query.new_zeros(1)

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        return features.squeeze(-1)


class DotQuery(QueryAttention):
    """h · q / √d, without parameters."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale: float = size**0.5

    def forward(
        self, states: Float[Tensor, "b t d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b t"]:
        return torch.einsum("btd,bd->bt", states, query) / self.scale


def plain_dot(size: int) -> Dot:
    return Dot(size, scale=1.0)


DOT_ENTRY = ModelPart(
    name="dot",
    description="learned query · h / √d, query drawn from N(0, 1)",
    make=Dot,
    paper="jain2019",
    citation="Vaswani et al. 2017; initialisation tutek2020",
)

PLAIN_DOT_ENTRY = ModelPart(
    name="plain_dot",
    description="learned query · h, not scaled, query drawn from N(0, 1)",
    make=plain_dot,
    citation="Luong et al. 2015; initialisation tutek2020",
)
