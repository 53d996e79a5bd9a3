"""How scores become weights: softmax, sparsemax, entmax, gates, the marginals of a chain.

The package entmax is imported when it is first needed, so that other models work without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


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
