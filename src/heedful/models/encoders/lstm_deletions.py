"""The first LSTM layer after deleting one token, for many deletions at once.

States before the deleted token (in reading direction) stay what they were, so each
deletion starts from a cached state and only walks the rest; input projections are
computed once for all. Deletions march in step, the longest first, so that those still
walking are always the first rows of one matrix.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.encoders.encoder import Readout
from heedful.models.encoders.scan import Direction, step


class FirstLayer:
    """With a readout, deletions give readouts; without, states."""

    def __init__(
        self, directions: tuple[Direction, ...], lengths: Tensor, readout: Readout | None
    ) -> None:
        self.lengths = lengths
        self.directions = [side.detach() for side in directions]
        states = torch.cat([side.states for side in self.directions], -1)
        self.maps = self._maps(states, readout)
        self.whole = states if readout is None else readout(states)
        # what a position's result is less the part of one direction
        self.others = [
            self.whole - nn.functional.linear(side.states, weight)
            for side, weight in zip(self.directions, self.maps, strict=True)
        ]

    def _maps(self, states: Tensor, readout: Readout | None) -> tuple[Tensor, ...]:
        """Each direction's share of the map from states to results."""
        weight = torch.eye(states.shape[-1]).to(states) if readout is None else readout.weight
        return weight.chunk(len(self.directions), 1)

    def delete(
        self, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]
    ) -> tuple[Float[Tensor, "m w f"], Int[Tensor, "m w"]]:
        """Results for the shortened texts, and the original position of each."""
        width = int(self.lengths[examples].max()) - 1
        places = torch.arange(width, device=positions.device).expand(len(positions), width)
        index = places + (places >= positions[:, None])
        if len(self.directions) == 1:
            out = self.whole[index, examples[:, None]]
        else:  # each place is after the token or before it, so one direction walks over it
            out = self.whole.new_zeros(*index.shape, self.whole.shape[-1])
        for side, weight, other in zip(self.directions, self.maps, self.others, strict=True):
            self._rewrite(side, out, examples, positions, weight.t(), other)
        return out, torch.where(index < self.lengths[examples, None], index, -1)

    def _rewrite(
        self,
        side: Direction,
        out: Float[Tensor, "m w f"],
        examples: Tensor,
        positions: Tensor,
        weight: Float[Tensor, "h f"],
        other: Float[Tensor, "t b f"],
    ) -> None:
        """Walk on from each deletion and put the new results into `out`."""
        texts = len(self.lengths)
        ahead = -1 if side.reverse else 1
        todo = positions if side.reverse else self.lengths[examples] - 1 - positions
        order = torch.argsort(todo, descending=True, stable=True)
        examples, positions, todo = examples[order], positions[order], todo[order]
        h, c = self._before(side, examples, positions - ahead)
        inputs, other = side.inputs.flatten(0, 1), other.flatten(0, 1)
        source = (positions + ahead) * texts + examples
        # position p + 1 of the text is place p of the shortened one, p - 1 stays p - 1
        place = positions - (1 if side.reverse else 0)
        steps = torch.arange(int(todo.max()), device=todo.device)
        walking = (todo > steps[:, None]).sum(1).tolist()
        for taken, n in enumerate(walking):
            token = source[:n] + ahead * taken * texts
            h, c = step(inputs.index_select(0, token), h[:n], c[:n], side.recurrent)
            out[order[:n], place[:n] + ahead * taken] = other.index_select(0, token).addmm_(
                h, weight
            )

    def _before(self, side: Direction, examples: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """The state the walk starts from: zero at the edge of the text."""
        there = ((before >= 0) & (before < self.lengths[examples]))[:, None]
        before = before.clamp(0, len(side.states) - 1)
        return side.states[before, examples] * there, side.cells[before, examples] * there
