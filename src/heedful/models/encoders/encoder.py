"""What every encoder offers: states, and states after each deletion without starting anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Window:
    """The states that change when one token is deleted, for `m` deletions.

    Everything in `[low, high)` (positions of the original text) is replaced by `states`,
    which stand at the original positions `index` (-1 where there is none). Outside the
    window the states are what they were.
    """

    low: Int[Tensor, " m"]
    high: Int[Tensor, " m"]
    index: Int[Tensor, "m w"]
    states: Float[Tensor, "m w d"]


@dataclass(frozen=True)
class Deletions:
    """The states of whole texts, and `(examples[m], positions[m]) -> Window` for deletions."""

    states: Float[Tensor, "b t d"]
    window: Callable[[Tensor, Tensor], Window]


class Encoder(nn.Module, ABC):
    """`size` is the width of a state."""

    size: int

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
    ) -> Float[Tensor, "b t d"]:
        """States; padding never reaches them."""

    @abstractmethod
    def deletions(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Deletions:
        """Prepare once what all deletions share."""
