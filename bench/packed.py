"""The papers' LSTM: a packed `nn.LSTM`, whatever Heedful itself runs."""

from __future__ import annotations

import copy

from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models import Encoding, OneSequence, Recurrent, run_packed


class Packed(nn.Module):
    def __init__(self, encoder: Recurrent) -> None:
        super().__init__()
        self.stack = encoder.stack

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        states = x
        for layer in self.stack:
            states = run_packed(layer, states, lengths)
        return Encoding(states, x)


def packed(model: OneSequence) -> OneSequence:
    """The same weights; a model without an LSTM is what it was."""
    if not isinstance(model.encoder, Recurrent):
        return model
    found = copy.copy(model)
    found._modules = dict(model._modules) | {"encoder": Packed(model.encoder)}
    return found
