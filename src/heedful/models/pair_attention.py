"""Attention over one text for a query made of another."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import unknown_name
from heedful.models.attention.attention import QueryAttention
from heedful.models.attention.weighting import ENTMAX, SIGMOID, SOFTMAX, SPARSEMAX, Weighting

WIDER = 5.0
"""Times PyTorch's default. A decoder that sees the attended text alone learns of the other one
by attention only; with nearly even weights at the start that is a saddle, and a model of SNLI
stays at chance for epochs, or for ever."""


class AdditiveQuery(QueryAttention):
    """v · tanh(W h + W_q q + b): jain2019's with a question, and Rocktäschel et al. 2016."""

    def __init__(self, size: int, weighting: Weighting = SOFTMAX) -> None:
        super().__init__(weighting)
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


WEIGHTINGS = {"additive": SOFTMAX, "gate": SIGMOID, "sparsemax": SPARSEMAX, "entmax": ENTMAX}
ATTENTIONS_FOR_QUERIES = (*WEIGHTINGS, "dot")
"""`hard` is not among them: there each token is taken or left for its own sake."""


def make_query_attention(name: str, size: int) -> QueryAttention:
    """The names are those of attention without a query."""
    if name == "dot":
        return DotQuery(size)
    if name not in WEIGHTINGS:
        raise unknown_name("attention with a query", name, list(ATTENTIONS_FOR_QUERIES))
    return AdditiveQuery(size, WEIGHTINGS[name])
