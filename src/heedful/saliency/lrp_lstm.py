"""An LSTM layer as LRP reads it: gates are constants, tanh hands on what comes.

Relevance enters by the states and leaves by the inputs of the candidates, there shared
with the state of the step before (Arras et al. 2017).
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.saliency.lrp_directions import walked
from heedful.saliency.lrp_rules import passing, stable


def lstm_states(
    layer: nn.LSTM, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], epsilon: float
) -> Float[Tensor, "b t d"]:
    """The states of an `nn.LSTM` of one layer; zeros after each text's end."""
    return walked(_walk, layer, x, lengths, epsilon)


def _walk(
    x: Tensor, live: Tensor, weights: dict[str, Tensor], suffix: str, epsilon: float
) -> Tensor:
    inward, recurrent = weights[f"weight_ih_l0{suffix}"], weights[f"weight_hh_l0{suffix}"]
    bias = weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"]
    size = recurrent.shape[1]
    rows = slice(2 * size, 3 * size)  # PyTorch's order: input, forget, candidate, output
    candidates = nn.functional.linear(x, inward[rows], bias[rows])
    with torch.no_grad():
        inputs = nn.functional.linear(x, inward, bias)
    h = c = x.new_zeros(x.shape[1], size)
    states = list(x.new_zeros(len(x), *h.shape))
    places = range(len(x)) if suffix == "" else reversed(range(len(x)))
    for place in places:
        gates = (inputs[place] + nn.functional.linear(h.detach(), recurrent.detach())).sigmoid()
        candidate = candidates[place] + nn.functional.linear(h, recurrent[rows])
        h, c = _step(gates, stable(candidate, epsilon), c, live[place], epsilon)
        states[place] = h
    return torch.stack(states)


def _step(
    gates: Tensor, candidate: Tensor, c: Tensor, live: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    """`live` clears the cell on padding."""
    enter, forget, _, leave = gates.chunk(4, -1)
    signal = passing(candidate, candidate.detach().tanh())
    c = stable((forget * c + enter * signal) * live, epsilon)
    return leave * passing(c, c.detach().tanh()), c
