"""Attention over the tokens of a text: scores, and how they become weights.

A `TokenAttention` scores each state by itself, a `QueryAttention` scores it for a query from
elsewhere; a `Weighting` turns the scores into weights. The package entmax is imported when it is
first needed, so that other models work without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, final, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.entries import Entries, ModelPart

ENTRIES = Entries(ModelPart)

WIDER = 5.0
"""Initial weights of additive attention with a query, in units of PyTorch's default. A decoder that
sees the attended text alone learns about the other text through attention only; nearly uniform
initial weights are a saddle there, and a model of SNLI stays at chance for epochs, or for ever."""


def masked_softmax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Softmax over the positions in `mask`; all zeros in a row that has none."""
    scores = scores.masked_fill(~mask, float("-inf"))
    top = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    powers = (scores - top.detach()).exp()
    return powers / powers.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)


def masked_sigmoid(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Each weight depends on its own score alone: a row sums to anything from 0 to its length."""
    # masked before the sigmoid: the scores of padding must not reach a gradient either
    return torch.sigmoid(scores.masked_fill(~mask, 0.0)) * mask


def masked_sparsemax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """The distribution nearest to the scores (Martins & Astudillo 2016): max(s − τ, 0)."""
    from entmax import sparsemax

    return _sparse(sparsemax, scores, mask)


def masked_entmax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Between softmax and sparsemax (Peters et al. 2019, α = 1.5): max(s/2 − τ, 0)²."""
    from entmax import entmax15

    return _sparse(entmax15, scores, mask)


def _sparse(function: Callable[[Tensor, int], Tensor], scores: Tensor, mask: Tensor) -> Tensor:
    """Zeros in rows with nothing to attend to. `function` is given equal scores there, since a row
    that is −∞ throughout would become NaN."""
    filled = scores.masked_fill(~mask, float("-inf"))
    filled = filled.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return function(filled, -1) * mask


@runtime_checkable
class Weighting(Protocol):
    """How scores become weights; one with parameters is a module.

    `weights(scores, mask)` are exactly 0 where the mask is False. `normalised` ones sum to 1.
    `power(score)` is a token's weight before normalisation (0 for −∞), so that texts that differ in
    few tokens can share sums. Weights that depend on the whole row in another way have none.
    """

    @property
    def weights(self) -> Callable[[Tensor, Tensor], Tensor]: ...
    @property
    def power(self) -> Callable[[Tensor], Tensor] | None: ...
    @property
    def normalised(self) -> bool: ...


@dataclass(frozen=True)
class FixedWeighting:
    """A `Weighting` without parameters."""

    weights: Callable[[Tensor, Tensor], Tensor]
    power: Callable[[Tensor], Tensor] | None = None
    normalised: bool = True


SOFTMAX = FixedWeighting(masked_softmax, torch.exp)
SPARSEMAX = FixedWeighting(masked_sparsemax)
ENTMAX = FixedWeighting(masked_entmax)
SIGMOID = FixedWeighting(masked_sigmoid, torch.sigmoid, normalised=False)
GIVEN = FixedWeighting(
    lambda gates, mask: gates.masked_fill(~mask, 0.0),
    lambda gates: gates.clamp_min(0.0),
    normalised=False,
)
"""The scores are gates, that is, weights already."""


class Chain(nn.Module):
    """Marginals of a linear-chain CRF (Kim et al. 2017): each token is selected or not, z ∈ {0, 1},
    with the potential `score · z` and a learned one for each pair of neighbours, and its weight is
    p(z = 1), divided by the sum over the text.

    Forward–backward runs on log odds, so no score is too large. Masked tokens are not in the chain:
    those on either side of them are neighbours.
    """

    power = None  # a weight depends on the scores of the whole row
    normalised = True

    def __init__(self) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(2, 2))

    def weights(
        self, scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
    ) -> Float[Tensor, "*n k"]:
        scores = scores.masked_fill(~mask, 0.0)
        return masked_softmax(nn.functional.logsigmoid(self._odds(scores, mask)), mask)

    def _odds(
        self, scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
    ) -> Float[Tensor, "*n k"]:
        """log p(z = 1)/p(z = 0): the score and what comes from before and from behind."""
        both = torch.stack([scores, scores.flip(-1)])
        seen = torch.stack([mask, mask.flip(-1)])
        shape = (2, *[1] * (scores.ndim - 1))
        w = self.transitions
        enter = torch.stack([w[0, 1], w[1, 0]]).view(shape)
        leave = torch.stack([w[1, 0], w[0, 1]]).view(shape)
        message, messages = torch.zeros_like(both[..., 0]), []
        for score, here in zip(both.unbind(-1), seen.unbind(-1), strict=True):
            messages.append(message)
            before = score + message
            taken = torch.logaddexp(enter, before + w[1, 1])
            onward = taken - torch.logaddexp(w[0, 0], before + leave)
            message = torch.where(here, onward, message)
        forward, backward = torch.stack(messages, -1)
        odds: Tensor = scores + forward + backward.flip(-1)
        return odds


WEIGHTINGS: Mapping[str, Callable[[], Weighting]] = {
    "additive": lambda: SOFTMAX,
    "gate": lambda: SIGMOID,
    "sparsemax": lambda: SPARSEMAX,
    "entmax": lambda: ENTMAX,
    "structured": Chain,
}
"""By the names of the additive attentions."""


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
