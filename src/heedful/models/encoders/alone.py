"""Deletions where no token sees another: no state changes."""

from __future__ import annotations

from torch import Tensor

from heedful.models.encoders.encoder import Deletions, Encoding, Readout, Window


def unchanged(encoding: Encoding, readout: Readout) -> Deletions:
    def delete(examples: Tensor, positions: Tensor) -> Window:
        none = positions.new_empty((len(positions), 0))
        empty = encoding.x.new_empty((*none.shape, len(readout.bias)))
        return Window(positions, positions + 1, none, empty)

    return Deletions(readout(encoding.states), delete, width=1)
