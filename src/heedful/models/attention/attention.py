"""What every attention is: scores, and the weights that are made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.models.attention.weighting import SOFTMAX, Weighting


class Attention(nn.Module, ABC):
    """Scores become weights by a softmax, or by another `weighting`. What becomes of the
    weights (edits, sums) is not its business."""

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
