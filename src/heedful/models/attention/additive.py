"""Additive attention (Bahdanau et al. 2015): v · tanh(W h + b), v without a bias."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.attention.attention import Attention


class Additive(Attention):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, size // 2)
        self.score = nn.Linear(size // 2, 1, bias=False)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.project.weight, self.project.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        scores: Tensor = self.score(torch.tanh(features)).squeeze(-1)
        return scores


PIECE = Piece(
    name="additive",
    description="v · tanh(W h + b)",
    make=Additive,
    paper="jain2019",
    citation="Bahdanau et al. 2015",
)
