"""Texts as a module wants them, and back.

A trace is always in the coordinates of a right-padded batch. Where the module must be padded
on the left, each row is turned by its own number of padding tokens, and turned back later.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Side:
    """Which positions of one side are tokens, which of them may be seen, and how many places
    each row is moved to the right for the module (None: not at all)."""

    real: Bool[Tensor, "b t"]
    seen: Bool[Tensor, "b t"]
    shift: Int[Tensor, " b"] | None = None

    @property
    def last(self) -> Int[Tensor, " b"]:
        """Where the module has each text's last token."""
        ends = self.real.sum(-1)
        return (ends if self.shift is None else ends + self.shift).clamp_min(1) - 1

    def turn(self, values: Tensor, dim: int) -> Tensor:
        """From a trace's coordinates to the module's."""
        return values if self.shift is None else _turned(values, -self.shift, dim)

    def turn_back(self, values: Tensor, dim: int) -> Tensor:
        return values if self.shift is None else _turned(values, self.shift, dim)


def side_of(
    lengths: Int[Tensor, " b"], width: int, hidden: Bool[Tensor, "b t"] | None, left: bool
) -> Side:
    real = torch.arange(width, device=lengths.device) < lengths[:, None]
    seen = real if hidden is None else real & ~hidden
    return Side(real, seen, width - lengths if left else None)


def _turned(values: Tensor, by: Tensor, dim: int) -> Tensor:
    """Each row read from so many places further on, round and round."""
    width = values.shape[dim]
    places = (torch.arange(width, device=values.device) + by[:, None]) % width
    shape = [1] * values.ndim
    shape[0], shape[dim] = places.shape
    return values.gather(dim, places.view(shape).expand_as(values))
