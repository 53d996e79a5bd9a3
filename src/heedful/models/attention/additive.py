"""Additive attention (Bahdanau et al. 2015): v · tanh(W h + b), and what may stand in the place
of its softmax.

`gate`: with one sequence attention is no more than a gate on each state (vashishth2019,
Proposition 4.1); this is that gate without the competition between tokens. Its weights are no
distribution. Edits stay what they are: `uniform`, `random`, `erase` and whatever else makes rows
that sum to 1 replace the gates by a distribution, so the context shrinks as well as changes;
`permute` and `detach` keep the gates' own values. What is only defined for distributions
(divergences, entropy, an adversary's simplex) does not apply: a site says so by
`normalised=False`.

`sparsemax` and `entmax`: most tokens get a weight of exactly 0, so the few others are all that the
context is made of: what a reader is shown is what was mixed. States still know of each other
through the encoder.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import ModelPart
from heedful.models.attention.attention import (
    ENTMAX,
    SIGMOID,
    SOFTMAX,
    SPARSEMAX,
    QueryAttention,
    TokenAttention,
    Weighting,
)

WIDER = 5.0
"""Times PyTorch's default. A decoder that sees the attended text alone learns of the other one
by attention only; with nearly even weights at the start that is a saddle, and a model of SNLI
stays at chance for epochs, or for ever."""


class Additive(TokenAttention):
    """v · tanh(W h + b), v without a bias."""

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


WEIGHTINGS = {"additive": SOFTMAX, "gate": SIGMOID, "sparsemax": SPARSEMAX, "entmax": ENTMAX}
"""By the names of the attentions that follow."""


def gate(size: int) -> Additive:
    return Additive(size, SIGMOID)


def sparsemax(size: int) -> Additive:
    return Additive(size, SPARSEMAX)


def entmax(size: int) -> Additive:
    return Additive(size, ENTMAX)


ADDITIVE_ENTRY = ModelPart(
    name="additive",
    description="v · tanh(W h + b)",
    make=Additive,
    paper="jain2019",
    citation="Bahdanau et al. 2015",
)

GATE_ENTRY = ModelPart(
    name="gate",
    description="σ(v · tanh(W h + b)), each token for itself; weights do not sum to 1",
    make=gate,
    paper="vashishth2019",
    citation="Dauphin et al. 2017",
)

SPARSEMAX_ENTRY = ModelPart(
    name="sparsemax",
    description="sparsemax of v · tanh(W h + b): most weights are exactly 0",
    make=sparsemax,
    citation="Martins & Astudillo 2016, From Softmax to Sparsemax, ICML",
)

ENTMAX_ENTRY = ModelPart(
    name="entmax",
    description="1.5-entmax of v · tanh(W h + b): many weights are exactly 0",
    make=entmax,
    citation="Peters et al. 2019, Sparse Sequence-to-Sequence Models, ACL",
)
