"""Additive attention (Bahdanau et al. 2015): v · tanh(W h + b), v without a bias."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.attention.attention import TokenAttention
from heedful.models.attention.weighting import SOFTMAX, Weighting


class Additive(TokenAttention):
    def __init__(self, size: int, weighting: Weighting = SOFTMAX) -> None:
        super().__init__(weighting)
        self.project = nn.Linear(size, size // 2)
        self.score = nn.Linear(size // 2, 1, bias=False)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return 2 * self.project.weight, 2 * self.project.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """v · tanh(x) = 2v · σ(2x) − Σv, with 2x at hand: on CPUs σ is far faster than tanh."""
        v = self.score.weight[0]
        return torch.sigmoid(features) @ (2 * v) - v.sum()


PIECE = Piece(
    name="additive",
    description="v · tanh(W h + b)",
    make=Additive,
    paper="jain2019",
    citation="Bahdanau et al. 2015",
)
