"""Attention over the tokens of a text: scores, and how they become weights.

A `TokenAttention` scores each state by itself, a `QueryAttention` scores it for a query from
elsewhere; a `Weighting` turns the scores into weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from heedful.entries import Entries, ModelPart
from heedful.models.weightings import (
    ENTMAX,
    GIVEN,
    SIGMOID,
    SOFTMAX,
    SPARSEMAX,
    Chain,
    Weighting,
)

ENTRIES = Entries(ModelPart)

WIDER = 5.0
"""Initial weights of additive attention with a query, in units of PyTorch's default. A decoder that
sees the attended text alone learns about the other text through attention only; nearly uniform
initial weights are a saddle there, and a model of SNLI stays at chance for epochs, or for ever."""


class Attention(nn.Module, ABC):
    """Turns scores into weights by a softmax, or by another `weighting`."""

    def __init__(self, weighting: Weighting = SOFTMAX) -> None:
        super().__init__()
        self.weighting = weighting

    @property
    def normalised(self) -> bool:
        return self.weighting.normalised

    @final
    def weights(
        self, scores: Float[Tensor, "*b t"], mask: Bool[Tensor, "*b t"]
    ) -> Float[Tensor, "*b t"]:
        """Exactly 0 where the mask is False."""
        return self.weighting.weights(scores, mask)


class TokenAttention(Attention):
    """A linear map of each state to features, then a score; no state sees another."""

    @abstractmethod
    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        """Weight and bias of the map from a state to features."""

    @abstractmethod
    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """From features to one score per token."""

    def forward(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        return self.scores(nn.functional.linear(states, *self.linear()))


class QueryAttention(Attention):
    """Scores of states for a query that comes from elsewhere, as wide as a state."""

    @abstractmethod
    def forward(
        self, states: Float[Tensor, "b t d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b t"]: ...


@ENTRIES.entry(
    "v · tanh(W h + b)", name="additive", paper="jain2019", citation="Bahdanau et al. 2015"
)
class Additive(TokenAttention):
    """v · tanh(W h + b), v without a bias (Bahdanau et al. 2015)."""

    def __init__(self, size: int, weighting: Weighting = SOFTMAX) -> None:
        super().__init__(weighting)
        self.project = nn.Linear(size, size // 2)
        self.score = nn.Linear(size // 2, 1, bias=False)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return 2 * self.project.weight, 2 * self.project.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """v · tanh(x) = 2v · σ(2x) − Σv for features 2x: on CPUs σ is far faster than tanh."""
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


@ENTRIES.entry(
    "σ(v · tanh(W h + b)), each token for itself; weights do not sum to 1",
    paper="vashishth2019",
    citation="Dauphin et al. 2017",
)
def gate(size: int) -> Additive:
    """A sigmoid in place of the softmax: a gate on each state, without competition between tokens
    (vashishth2019, Proposition 4.1).

    The weights are no distribution. Edits that make rows that sum to 1 (`uniform`, `random`,
    `erase`) replace the gates by a distribution, so the context also shrinks; `permute` and
    `detach` keep the gates' own values. Measures that need a distribution (divergences, entropy, an
    adversary's simplex) do not apply, which a site says by `normalised=False`.
    """
    return Additive(size, SIGMOID)


@ENTRIES.entry(
    "learned query · h / √d, query drawn from N(0, 1)",
    name="dot",
    paper="jain2019",
    citation="Vaswani et al. 2017; initialisation tutek2020",
)
class Dot(TokenAttention):
    """q · h / √d, or over another scale, with a learned query.

    The query starts from N(0, 1): PyTorch's default for a linear layer is so small that attention
    stays uniform (tutek2020). Divided by √d, attention begins nearly uniform, and may stay so where
    that is good enough: every state then learns to carry the class (tutek2020, appendix C). Hence
    `plain_dot`, which is not scaled and sharp from the start. A `narrow` query starts as PyTorch's
    linear layers do, within 1/√d, as in jain2019's program.
    """

    def __init__(self, size: int, scale: float | None = None, narrow: bool = False) -> None:
        super().__init__()
        self.scale = size**0.5 if scale is None else scale
        start = nn.Linear(size, 1, bias=False).weight[0].detach() if narrow else torch.randn(size)
        self.query = nn.Parameter(start)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.query[None] / self.scale, self.query.new_zeros(1)

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        return features.squeeze(-1)


@ENTRIES.entry(
    "learned query · h / ‖h‖, query drawn from N(0, 1)",
    name="unit_dot",
    citation="the program of Jukić, Tutek & Šnajder 2023, Easy to Decide, Hard to Agree",
)
class UnitDot(TokenAttention):
    """q · h / ‖h‖ with a learned query: the length of a state does not matter.

    The query starts from N(0, 1), so that scores start as standard normals: attention is equally
    sharp from the start whatever the encoder, where `plain_dot` is as sharp as states are long.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(size))

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        """The state itself: its length is not linear in it."""
        size = len(self.query)
        return torch.eye(size).to(self.query), self.query.new_zeros(size)

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        return nn.functional.normalize(features, dim=-1) @ self.query

    def forward(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        return self.scores(states)


class DotQuery(QueryAttention):
    """h · q / √d, without parameters."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale: float = size**0.5

    def forward(
        self, states: Float[Tensor, "b t d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b t"]:
        return torch.einsum("btd,bd->bt", states, query) / self.scale


LOW, HIGH = -0.1, 1.1
_LEAST_DRAW = 1e-6  # a draw of 0 or 1 has no slope


@dataclass(frozen=True)
class HardKuma:
    """A random gate that is often exactly 0 or exactly 1, and that gradients pass through: one for
    each pair of shapes, both above 0. A Kumaraswamy variable, with F(x) = 1 − (1 − xᵃ)ᵇ on
    (0, 1), is stretched to (−0.1, 1.1); what lies outside of [0, 1] becomes 0 or 1."""

    a: Float[Tensor, "*n"]
    b: Float[Tensor, "*n"]

    def p_zero(self) -> Float[Tensor, "*n"]:
        return 1 - self._survival(-LOW / (HIGH - LOW))

    def p_one(self) -> Float[Tensor, "*n"]:
        return self._survival((1 - LOW) / (HIGH - LOW))

    def mean(self) -> Float[Tensor, "*n"]:
        """Of the stretched variable, before it is cut off: the mean of a Kumaraswamy variable
        is b · B(1 + 1/a, b)."""
        inverse = 1 + 1 / self.a
        beta = torch.lgamma(inverse) + torch.lgamma(self.b) - torch.lgamma(inverse + self.b)
        return LOW + (HIGH - LOW) * self.b * beta.exp()

    def likeliest(self) -> Float[Tensor, "*n"]:
        """0 or 1 where that is the likeliest of 0, 1 and between; else the mean, cut off."""
        zero, one = self.p_zero(), self.p_one()
        end = (one > zero).to(zero.dtype)
        between = 1 - zero - one > torch.maximum(zero, one)
        return torch.where(between, self.mean().clamp(0, 1), end)

    def sample(self) -> Float[Tensor, "*n"]:
        """F⁻¹ of a uniform draw, stretched and cut off; by logarithms, so slopes are finite."""
        draw = torch.rand_like(self.a).clamp(_LEAST_DRAW, 1 - _LEAST_DRAW)
        log_power = torch.log1p(-draw) / self.b  # of (1 − u)^(1/b)
        inner = (torch.log(-torch.expm1(log_power)) / self.a).exp()
        return (LOW + (HIGH - LOW) * inner).clamp(0, 1)

    def _survival(self, x: float) -> Float[Tensor, "*n"]:
        """1 − F(x) = (1 − xᵃ)ᵇ."""
        return (1 - x**self.a) ** self.b


_SHAPES = (1e-3, 100.0)  # beyond them a gate is 0 or 1 for sure, and powers leave float32


@ENTRIES.entry(
    "HardKuma gates, most of them exactly 0 or 1; weights do not sum to 1",
    name="hard",
    citation="Bastings et al. 2019, Interpretable Neural Predictions with Differentiable "
    "Binary Variables, ACL",
)
class Hard(TokenAttention):
    """Hard selection (Bastings et al. 2019): each token is taken, left, or, seldom, taken in part.

    Gates are drawn in training; afterwards each is the likeliest of 0, 1 and between. They mix the
    states as they are, z · h: a token's gate owes nothing to the others, a context of three tokens
    is larger than one of two, and a text may select nothing at all. So weights are no distribution
    (`normalised=False`, see `gate`), and divided by their sum they would no longer say which tokens
    are wholly in. How many are taken is the term `sparsity`'s business; without it nothing keeps a
    model from taking them all. The two shapes of a token's gate are softplus(w · h + c).
    """

    def __init__(self, size: int) -> None:
        super().__init__(GIVEN)
        self.shapes = nn.Linear(size, 2)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.shapes.weight, self.shapes.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """The gates themselves."""
        gate = gates_of(features)
        return gate.sample() if self.training else gate.likeliest()

    def p_zero(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        """How probably each token is left out altogether."""
        return gates_of(self.shapes(states)).p_zero()


def gates_of(features: Float[Tensor, "*b t 2"]) -> HardKuma:
    """One gate for each pair of features."""
    a, b = softplus(features).clamp(*_SHAPES).unbind(-1)
    return HardKuma(a, b)


ENTRIES.entry(
    "sparsemax of v · tanh(W h + b): most weights are exactly 0",
    name="sparsemax",
    citation="Martins & Astudillo 2016, From Softmax to Sparsemax, ICML",
)(partial(Additive, weighting=SPARSEMAX))
ENTRIES.entry(
    "1.5-entmax of v · tanh(W h + b): many weights are exactly 0",
    name="entmax",
    citation="Peters et al. 2019, Sparse Sequence-to-Sequence Models, ACL",
)(partial(Additive, weighting=ENTMAX))


@ENTRIES.entry(
    "p(z = 1) in a linear-chain CRF over v · tanh(W h + b), divided by the sum over the text",
    citation="Kim et al. 2017, Structured Attention Networks, ICLR",
)
def structured(size: int) -> Additive:
    """Structured attention (Kim et al. 2017) that selects a subset of the tokens, in which
    neighbours attract or repel each other. It starts without either.

    The paper mixes states by the marginals themselves, which sum to the expected number of selected
    tokens. Here they are divided by their sum, so that weights are a distribution as they are in
    every other attention: each edit keeps its meaning, an adversary moves on the same simplex, and
    all experiments apply. A context no longer says how many tokens were selected.
    """
    return Additive(size, Chain())


ENTRIES.entry(
    "learned query · h, not scaled, query drawn from N(0, 1)",
    name="plain_dot",
    citation="Luong et al. 2015; initialisation tutek2020",
)(partial(Dot, scale=1.0))
ENTRIES.entry(
    "learned query · h / √d, the query drawn as PyTorch draws a linear layer's",
    name="narrow_dot",
    paper="jain2019",
    citation="Jain & Wallace 2019, Attention is not Explanation, NAACL",
)(partial(Dot, narrow=True))
