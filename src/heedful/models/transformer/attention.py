"""Multi-head attention with the weights in the open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.masked_softmax import masked_softmax
from heedful.types import Mask

Use = Callable[[Float[Tensor, "b h q k"], Mask, Float[Tensor, "b h k d"]], Tensor]
"""Weights, mask and values to the weights that are used: where edits step in."""


@dataclass(frozen=True)
class Read:
    """Keys and values of what is attended, by head."""

    keys: Float[Tensor, "b h k d"]
    values: Float[Tensor, "b h k d"]

    def and_then(self, later: Read) -> Read:
        keys, values = torch.cat([self.keys, later.keys], 2), [self.values, later.values]
        return Read(keys, torch.cat(values, 2))

    def take(self, rows: Int[Tensor, " n"]) -> Read:
        return Read(self.keys[rows], self.values[rows])


class MultiHead(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
        for layer in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def read(self, states: Float[Tensor, "b k d"]) -> Read:
        return Read(self._split(self.key(states)), self._split(self.value(states)))

    def forward(
        self, states: Float[Tensor, "b q d"], read: Read, mask: Mask, use: Use
    ) -> Float[Tensor, "b q d"]:
        query = self._split(self.query(states))
        scores = query @ read.keys.transpose(-1, -2) / query.shape[-1] ** 0.5
        weights = use(masked_softmax(scores, mask.expand_as(scores)), mask, read.values)
        mixed = weights.to(read.values.dtype) @ read.values
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    @property
    def projection(self) -> Float[Tensor, "h d e"]:
        """The part of the output projection that each head's values go through."""
        weight = self.out.weight.detach()
        return weight.T.reshape(self.heads, -1, len(weight))

    def _split(self, states: Tensor) -> Tensor:
        return states.reshape(*states.shape[:-1], self.heads, -1).transpose(1, 2)
