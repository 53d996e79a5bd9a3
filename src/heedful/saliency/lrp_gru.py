"""A GRU layer as LRP reads it: both gates are constants, tanh hands on what comes.

A state is shared between the candidate and the state before it; the candidate's share goes
to its input and, through the reset gate, again to the state before. The rule is the one for
LSTMs (Arras et al. 2017), applied to the GRU's two products of gate and signal.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.saliency.lrp_directions import walked
from heedful.saliency.lrp_rules import passing, stable


def gru_states(
    layer: nn.GRU, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], epsilon: float
) -> Float[Tensor, "b t d"]:
    """The states of an `nn.GRU` of one layer; zeros after each text's end."""
    return walked(_walk, layer, x, lengths, epsilon)


def _walk(
    x: Tensor, live: Tensor, weights: dict[str, Tensor], suffix: str, epsilon: float
) -> Tensor:
    inward, recurrent = weights[f"weight_ih_l0{suffix}"], weights[f"weight_hh_l0{suffix}"]
    bias, again = weights[f"bias_ih_l0{suffix}"], weights[f"bias_hh_l0{suffix}"]
    size = recurrent.shape[1]
    rows = slice(2 * size, 3 * size)  # PyTorch's order: reset, update, candidate
    inputs = nn.functional.linear(x, inward, bias)
    h = x.new_zeros(x.shape[1], size)
    states = list(x.new_zeros(len(x), *h.shape))
    places = range(len(x)) if suffix == "" else reversed(range(len(x)))
    for place in places:
        gates = inputs[place] + nn.functional.linear(h, recurrent, again)
        reset, update = gates.detach()[:, : 2 * size].sigmoid().chunk(2, -1)
        before = nn.functional.linear(h, recurrent[rows], again[rows])
        candidate = stable(inputs[place][:, rows] + reset * before, epsilon)
        signal = passing(candidate, candidate.detach().tanh())
        h = stable(((1 - update) * signal + update * h) * live[place], epsilon)
        states[place] = h
    return torch.stack(states)
