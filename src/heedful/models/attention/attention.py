"""What every attention is: scores, and the weights that are made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.models.masked_sigmoid import masked_sigmoid
from heedful.models.masked_softmax import masked_softmax


class Attention(nn.Module, ABC):
    """Scores become weights by a softmax, or, where they are not `normalised`, by a gate on
    each token for itself. What becomes of the weights (edits, sums) is not its business."""

    def __init__(self, normalised: bool = True) -> None:
        super().__init__()
        self.normalised = normalised

    @final
    def weights(
        self, scores: Float[Tensor, "*b t"], mask: Bool[Tensor, "*b t"]
    ) -> Float[Tensor, "*b t"]:
        """Exactly 0 where the mask is False."""
        return masked_softmax(scores, mask) if self.normalised else masked_sigmoid(scores, mask)


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
