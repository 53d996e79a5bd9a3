"""Attention over one text for a query made of another."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import unknown_name
from heedful.models.attention.attention import QueryAttention

WIDER = 5.0
"""Times PyTorch's default. A decoder that sees the attended text alone learns of the other one
by attention only; with nearly even weights at the start that is a saddle, and a model of SNLI
stays at chance for epochs, or for ever."""


class AdditiveQuery(QueryAttention):
    """v · tanh(W h + W_q q + b): jain2019's with a question, and Rocktäschel et al. 2016."""

    def __init__(self, size: int, normalised: bool = True) -> None:
        super().__init__(normalised)
        self.project = nn.Linear(size, size // 2)
        self.project_query = nn.Linear(size, size // 2, bias=False)
        self.score = nn.Linear(size // 2, 1, bias=False)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(WIDER)

    def forward(
        self, states: Float[Tensor, "b t d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b t"]:
        features = self.project(states) + self.project_query(query)[:, None]
        scores: Tensor = self.score(torch.tanh(features)).squeeze(-1)
        return scores


class DotQuery(QueryAttention):
    """h · q / √d, without parameters."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = math.sqrt(size)

    def forward(
        self, states: Float[Tensor, "b t d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b t"]:
        return torch.einsum("btd,bd->bt", states, query) / self.scale


def make_query_attention(name: str, size: int) -> QueryAttention:
    """The names are those of attention without a query."""
    if name == "additive":
        return AdditiveQuery(size)
    if name == "gate":
        return AdditiveQuery(size, normalised=False)
    if name == "dot":
        return DotQuery(size)
    raise unknown_name("attention with a query", name, ["additive", "dot", "gate"])
