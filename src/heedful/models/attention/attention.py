"""What every attention is: a linear map of each state, then a score."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float
from torch import Tensor, nn


class Attention(nn.Module, ABC):
    """Scores of tokens; what becomes of them (softmax, edits) is not its business."""

    @abstractmethod
    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        """Weight and bias of the map from a state to features."""

    @abstractmethod
    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """From features to one score per token."""

    def forward(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        return self.scores(nn.functional.linear(states, *self.linear()))
