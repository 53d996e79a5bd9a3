"""The first LSTM layer after deleting one token, for many deletions at once.

States before the deleted token (in reading direction) stay what they were, so each
deletion starts from a cached state and only walks the rest; input projections are
computed once for all. Deletions march in step, the longest first, so that those still
walking are always the first rows of one matrix. Results stay in the order in which they
are made, step after step; a table says where each is.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.encoders.encoder import Readout
from heedful.models.encoders.scan import Direction, step


@dataclass(frozen=True)
class Rewritten:
    """Results in any order; for each place of the shortened texts the row of its result and
    its original position (-1 where there is none)."""

    results: Float[Tensor, "r f"]
    row: Int[Tensor, "m w"]
    index: Int[Tensor, "m w"]


class FirstLayer:
    """With a readout, deletions give readouts; without, states."""

    def __init__(
        self, directions: tuple[Direction, ...], lengths: Tensor, readout: Readout | None
    ) -> None:
        self.lengths = lengths
        self.directions = [side.detach() for side in directions]
        states = torch.cat([side.states for side in self.directions], -1).flatten(0, 1)
        self.maps = self._maps(states, readout)
        self.whole = states if readout is None else readout(states)
        # what a position's result is less the part of one direction
        self.others = [
            self.whole - side.states.flatten(0, 1) @ weight
            for side, weight in zip(self.directions, self.maps, strict=True)
        ]

    def _maps(self, states: Tensor, readout: Readout | None) -> list[Float[Tensor, "h f"]]:
        """Each direction's share of the map from states to results."""
        weight = torch.eye(states.shape[-1]).to(states) if readout is None else readout.weight
        return [share.t() for share in weight.chunk(len(self.directions), 1)]

    def delete(self, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]) -> Rewritten:
        lengths = self.lengths[examples]
        places = torch.arange(int(lengths.max()) - 1, device=positions.device)
        index = places + (places >= positions[:, None])
        walks = [_Walk(side, examples, positions, lengths) for side in self.directions]
        # what two directions have not passed; where there is one, it leaves what is before it
        kept = self.whole if len(walks) == 1 else self.whole[:0]
        row, done = index * len(self.lengths) + examples[:, None], len(kept)
        results = kept.new_empty(done + sum(walk.total for walk in walks), kept.shape[1])
        results[:done] = kept
        for walk, weight, other in zip(walks, self.maps, self.others, strict=True):
            row = torch.where(walk.passes(index), walk.rows(index) + done, row)
            walk.write(results[done:], weight, other)
            done += walk.total
        there = index < lengths[:, None]
        return Rewritten(results, torch.where(there, row, 0), torch.where(there, index, -1))


class _Walk:
    """One direction from each deletion to the end of its text, in step."""

    def __init__(
        self, side: Direction, examples: Tensor, positions: Tensor, lengths: Tensor
    ) -> None:
        self.side, self.positions = side, positions
        self.ahead = -1 if side.reverse else 1
        todo = positions if side.reverse else lengths - 1 - positions
        order = torch.argsort(todo, descending=True, stable=True)
        self.rank = torch.empty_like(order)
        self.rank[order] = torch.arange(len(order), device=order.device)
        self.examples, self.begin = examples[order], positions[order]
        self.lengths = lengths[order]
        steps = torch.arange(int(todo.max()), device=todo.device)
        walking = (todo[:, None] > steps).sum(0)
        self.starts = walking.cumsum(0) - walking
        self.walking: list[int] = walking.tolist()
        self.total = sum(self.walking)

    def passes(self, index: Int[Tensor, "m w"]) -> Tensor:
        """Whether the walk comes to a position of the original text."""
        return (index - self.positions[:, None]) * self.ahead > 0

    def rows(self, index: Int[Tensor, "m w"]) -> Int[Tensor, "m w"]:
        """Where the result is, for positions that the walk passes."""
        taken = (index - self.positions[:, None]) * self.ahead - 1
        if not self.walking:
            return torch.zeros_like(index)
        return self.starts[taken.clamp(0, len(self.walking) - 1)] + self.rank[:, None]

    def write(self, out: Tensor, weight: Float[Tensor, "h f"], other: Tensor) -> None:
        """Results, step after step."""
        h, c = self._before()
        h, c, weight, recurrent = h / 2, c * 2, weight * 2, self.side.recurrent * 2
        inputs, texts = self.side.inputs.flatten(0, 1), self.side.inputs.shape[1]
        token = (self.begin + self.ahead) * texts + self.examples
        done = 0
        for n in self.walking:
            token = token[:n]
            h, c = step(inputs.index_select(0, token), h[:n], c[:n], recurrent)
            block = out[done : done + n]
            torch.index_select(other, 0, token, out=block)
            block.addmm_(h, weight)
            token, done = token + self.ahead * texts, done + n

    def _before(self) -> tuple[Tensor, Tensor]:
        """The states the walk starts from: zero at the edge of the text."""
        before = self.begin - self.ahead
        there = ((before >= 0) & (before < self.lengths))[:, None]
        before = before.clamp(0, len(self.side.states) - 1)
        states, cells = self.side.states, self.side.cells
        return states[before, self.examples] * there, cells[before, self.examples] * there
