"""One step of writing: a token and a memory in, a new memory and a reading of the source out.

`additive` is Bahdanau et al.'s decoder: the state before the step asks, and the context enters
the recurrence. `dot` and `general` are Luong et al.'s: the new state asks, and the attentional
state tanh(W [c; s]) is fed to the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.seq2seq.attention import Asking, make_asking
from heedful.models.seq2seq.cells import Cells

Attend = Callable[[Float[Tensor, "b k"]], Float[Tensor, "b k"]]
"""From scores to the weights that are used, masks and edits and all."""


@dataclass(frozen=True)
class Source:
    """What all steps share: the encoder's states, and what of the scores depends on them."""

    states: Float[Tensor, "b k d"]
    keys: Float[Tensor, "b k d"]

    def mix(self, weights: Float[Tensor, "b k"]) -> Float[Tensor, "b d"]:
        return torch.einsum("bk,bkd->bd", weights.to(self.states.dtype), self.states)


@dataclass(frozen=True)
class Memory:
    """What a step leaves to the next: the cells, and what is fed back."""

    cells: Float[Tensor, "b l 2 d"]
    fed: Float[Tensor, "b d"]


class Decoder(nn.Module):
    """`size` is the width of its states and of the encoder's."""

    def __init__(self, attention: str, width: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.early = attention == "additive"
        self.size, self.depth = size, layers
        self.asking: Asking = make_asking(attention, size)
        self.cells = Cells(width, size, layers, dropout)
        self.bridge = nn.Linear(size, 2 * size * layers)
        self.combine = nn.Linear(2 * size + (width if self.early else 0), size)

    def source(self, states: Float[Tensor, "b k d"]) -> Source:
        return Source(states, self.asking.keys(states))

    def begin(self, summary: Float[Tensor, "b d"]) -> Memory:
        """The first memory, from where the encoder's directions ended."""
        first = torch.tanh(self.bridge(summary)).reshape(-1, self.depth, 2, self.size)
        return Memory(first, summary.new_zeros(summary.shape))

    def forward(
        self,
        source: Source,
        memory: Memory,
        embedded: Float[Tensor, "b e"],
        read: Float[Tensor, "b g"],
        attend: Attend,
    ) -> tuple[Float[Tensor, "b d"], Memory]:
        """What the output layer reads, and the new memory."""
        if self.early:
            return self._bahdanau(source, memory, embedded, read, attend)
        return self._luong(source, memory, read, attend)

    def _bahdanau(
        self, source: Source, memory: Memory, embedded: Tensor, read: Tensor, attend: Attend
    ) -> tuple[Tensor, Memory]:
        context = source.mix(attend(self.asking.scores(memory.cells[:, -1, 0], source.keys)))
        cells = self.cells(read, context, memory.cells)
        out = torch.tanh(self.combine(torch.cat([context, cells[:, -1, 0], embedded], -1)))
        return out, Memory(cells, memory.fed)

    def _luong(
        self, source: Source, memory: Memory, read: Tensor, attend: Attend
    ) -> tuple[Tensor, Memory]:
        cells = self.cells(read, memory.fed, memory.cells)
        context = source.mix(attend(self.asking.scores(cells[:, -1, 0], source.keys)))
        out = torch.tanh(self.combine(torch.cat([context, cells[:, -1, 0]], -1)))
        return out, Memory(cells, out)
