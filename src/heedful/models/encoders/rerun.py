"""Deletions where every state may change: shortened texts are encoded in full."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from heedful.models.encoders.encoder import Deletions, Encoding, Readout, Window


def rerun(
    run: Callable[[Tensor, Tensor], Tensor], encoding: Encoding, lengths: Tensor, readout: Readout
) -> Deletions:
    """`run(x, lengths)` gives the states of texts."""

    def delete(examples: Tensor, positions: Tensor) -> Window:
        places = torch.arange(encoding.x.shape[1] - 1, device=positions.device)
        index = places + (places >= positions[:, None])
        states = run(encoding.x[examples[:, None], index], lengths[examples] - 1)
        index = torch.where(index < lengths[examples, None], index, -1)
        return Window(torch.zeros_like(positions), lengths[examples], index, readout(states))

    return Deletions(readout(encoding.states), delete)
