"""What every attention is: scores, and how they become weights.

What becomes of the weights (edits, sums) is not its business. `entmax` is imported when it is
asked for: a machine that only has what training needs otherwise does without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def masked_softmax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """A row with nothing to attend to is all zeros, so its context is zero too."""
    scores = scores.masked_fill(~mask, float("-inf"))
    top = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    powers = (scores - top.detach()).exp()
    return powers / powers.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)


def masked_sigmoid(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Each weight depends on its own score alone, so a row sums to anything from 0 to its
    length."""
    # masked before the sigmoid: what stands in padding must not reach a gradient either
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
    """Half-way to the softmax (Peters et al. 2019, α = 1.5): max(s/2 − τ, 0)²."""
    from entmax import entmax15

    return _sparse(entmax15, scores, mask)


def _sparse(function: Callable[[Tensor, int], Tensor], scores: Tensor, mask: Tensor) -> Tensor:
    """A row with nothing to attend to is all zeros; to the function it is a row of equals, since
    it could make no number of one that is −∞ throughout."""
    filled = scores.masked_fill(~mask, float("-inf"))
    filled = filled.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return function(filled, -1) * mask


@dataclass(frozen=True)
class Weighting:
    """`weights(scores, mask)` are exactly 0 where the mask is False. `normalised` ones sum to 1.

    `power` is what a token brings by its own score alone (0 for −∞), from which weights follow
    by at most a division by the row's sum; so texts that differ in few tokens can share sums.
    Sparse weights have none: their threshold depends on the whole row.
    """

    weights: Callable[[Tensor, Tensor], Tensor]
    power: Callable[[Tensor], Tensor] | None = None
    normalised: bool = True


SOFTMAX = Weighting(masked_softmax, torch.exp)
SPARSEMAX = Weighting(masked_sparsemax)
ENTMAX = Weighting(masked_entmax)
SIGMOID = Weighting(masked_sigmoid, torch.sigmoid, normalised=False)
GIVEN = Weighting(
    lambda gates, mask: gates.masked_fill(~mask, 0.0),
    lambda gates: gates.clamp_min(0.0),
    normalised=False,
)
"""Gates that are weights already."""


class Attention(nn.Module, ABC):
    """Scores become weights by a softmax, or by another `weighting`."""

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
    """A linear map of each state, then a score: nothing but the state decides."""

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
