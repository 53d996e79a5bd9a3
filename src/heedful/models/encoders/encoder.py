"""What every encoder offers: states, and states after each deletion without starting anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Readout:
    """The linear map that whatever follows applies to a state first. Only its results are
    asked for after a deletion, and an encoder may compute them from halves of a state."""

    weight: Float[Tensor, "f d"]
    bias: Float[Tensor, " f"]

    def __call__(self, states: Float[Tensor, "*b d"]) -> Float[Tensor, "*b f"]:
        return nn.functional.linear(states, self.weight, self.bias)


@dataclass(frozen=True)
class Window:
    """The readouts that change when one token is deleted, for `m` deletions.

    Everything in `[low, high)` (positions of the original text) is replaced by readouts
    that stand at the original positions `index` (-1 where there is none). Outside the
    window they are what they were. `readouts` come in any order; where they are not already
    in place, `row` says which belongs where.
    """

    low: Int[Tensor, " m"]
    high: Int[Tensor, " m"]
    index: Int[Tensor, "m w"]
    readouts: Float[Tensor, "*r f"]
    row: Int[Tensor, "m w"] | None = None

    def placed(self, rows: Float[Tensor, "*r _k"]) -> Float[Tensor, "m w _k"]:
        """What was made of the readouts, one by one, in its place."""
        return rows if self.row is None else rows[self.row]


@dataclass(frozen=True)
class Deletions:
    """The readouts of whole texts, and `(examples[m], positions[m]) -> Window`. For each of
    these deletions at most `width` states are made: as many as the text has, if left out."""

    readouts: Float[Tensor, "b t f"]
    window: Callable[[Tensor, Tensor], Window]
    width: int | None = None


@dataclass(frozen=True)
class Encoding:
    """States, and what deletions go on from: the embeddings, or what `cache` holds of them."""

    states: Float[Tensor, "b t d"]
    x: Float[Tensor, "b t e"]
    cache: Any = None


class Encoder(nn.Module, ABC):
    """`size` is the width of a state."""

    size: int

    @abstractmethod
    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        """Encode; padding never reaches the states."""

    @abstractmethod
    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Prepare once what all deletions share."""

    def hidden_for(self, width: int) -> int | None:
        """The `hidden` that makes states so wide; None where none does."""
        return width
