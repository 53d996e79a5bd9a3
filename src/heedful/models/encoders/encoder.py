"""What every encoder offers: states, and states after each deletion without starting anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
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
    """`size` is the width of a state, `directions` in how many ways tokens are read: none where
    their order counts for nothing, or in windows only."""

    size: int
    directions: int = 0

    @abstractmethod
    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        """Encode; padding never reaches the states."""

    @abstractmethod
    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Prepare once what all deletions share."""

    def hidden_for(self, width: int) -> int | None:
        """The `hidden` that makes states so wide; None where none does. It is the width of one
        direction."""
        parts = max(1, self.directions)
        return None if width % parts else width // parts


LEAST, MOST = 4, 4096  # of `hidden`


def possible(hidden: int) -> bool:
    """What `hidden` may be; half of it may be a direction, a kernel's channels or a query."""
    return LEAST <= hidden <= MOST and hidden % 2 == 0


def how_to_fit(encoder: Encoder, width: int) -> str:
    """What to do for states of that width; the end of an error's sentence."""
    hidden = encoder.hidden_for(width)
    if hidden is None or not possible(hidden):
        return "no --hidden makes them equal, so choose another encoder or vectors of another width"
    return f"give --hidden {hidden}"


def without_padding(
    x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t e"]:
    """Zeros in padding, whatever was embedded there."""
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x * real[..., None]


def unchanged(encoding: Encoding, readout: Readout) -> Deletions:
    """Deletions where no token sees another: no state changes."""

    def delete(examples: Tensor, positions: Tensor) -> Window:
        none = positions.new_empty((len(positions), 0))
        empty = encoding.x.new_empty((*none.shape, len(readout.bias)))
        return Window(positions, positions + 1, none, empty)

    return Deletions(readout(encoding.states), delete, width=1)


def rerun(
    run: Callable[[Tensor, Tensor], Tensor], encoding: Encoding, lengths: Tensor, readout: Readout
) -> Deletions:
    """Deletions where every state may change: shortened texts are encoded in full, by
    `run(x, lengths)`."""

    def delete(examples: Tensor, positions: Tensor) -> Window:
        places = torch.arange(encoding.x.shape[1] - 1, device=positions.device)
        index = places + (places >= positions[:, None])
        states = run(encoding.x[examples[:, None], index], lengths[examples] - 1)
        index = torch.where(index < lengths[examples, None], index, -1)
        return Window(torch.zeros_like(positions), lengths[examples], index, readout(states))

    return Deletions(readout(encoding.states), delete)
