"""Layer-wise relevance propagation through the models that Heedful builds: one sequence, and its
encoders. They are imported when one of them is explained.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.attributions.lrp import passing, stable
from heedful.errors import HeedfulError
from heedful.models import (
    SITE,
    Average,
    Convolutions,
    Encoding,
    Gru,
    OneSequence,
    PassThrough,
    Recurrent,
)
from heedful.types import Batch


def one_sequence_logits(
    model: OneSequence, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    """Attention is a gate: its weights are the model's own, and constants."""
    with torch.no_grad():
        weights = model(batch, embeddings={"a": embedded.detach()}).weights[SITE.name][:, 0, 0]
    states = lrp_states(model.encoder, embedded, batch.texts["a"].lengths, epsilon)
    context = stable(torch.einsum("bt,btd->bd", weights.to(states.dtype), states), epsilon)
    return stable(model.decoder(context), epsilon)


@singledispatch
def lrp_states(
    encoder: object, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], epsilon: float
) -> Float[Tensor, "b t d"]:
    """The encoder's states, linear in `x` to the gradient."""
    raise HeedfulError(
        f"LRP has no rules for the encoder {type(encoder).__name__}: register some with "
        "`lrp_states`."
    )


@lrp_states.register
def recurrent_states(
    encoder: Recurrent | Gru, x: Tensor, lengths: Tensor, epsilon: float
) -> Tensor:
    for layer in encoder.stack:
        assert isinstance(layer, nn.RNNBase)
        x = walked(layer, x, lengths, epsilon)
    return x


@lrp_states.register
def convolution_states(encoder: Convolutions, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    live = (torch.arange(x.shape[1], device=x.device) < lengths[:, None])[:, None].to(x.dtype)
    channels = x.transpose(1, 2)
    for layer in encoder.stack:
        parts = [convolution(channels * live) for convolution in layer.convolutions]
        channels = stable(torch.cat(parts, 1), epsilon).relu()
    return channels.transpose(1, 2)


@lrp_states.register
def average_states(encoder: Average, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    for layer in encoder.layers:
        total = stable(layer(x), epsilon)
        x = passing(total, encoder.activation(total))
    return x


@lrp_states.register
def embedded_states(encoder: PassThrough, x: Tensor, lengths: Tensor, epsilon: float) -> Tensor:
    encoding: Encoding = encoder(x, lengths)
    return encoding.states


def walked(
    layer: nn.RNNBase, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], epsilon: float
) -> Float[Tensor, "b t d"]:
    """Both directions of a layer, or the one it has; zeros after each text's end.

    Each is walked as `(x, live, weights, places, ε) -> states`, time first: it comes to the places
    in their order, `live` is 0 on padding, and the weights are those of the inputs and of the
    state, then their biases.
    """
    walk = _gru_walk if isinstance(layer, nn.GRU) else _lstm_walk
    live = (torch.arange(x.shape[1], device=x.device)[:, None] < lengths)[..., None].to(x.dtype)
    weights, places = layer.all_weights, range(x.shape[1])
    sides = [
        walk(x.transpose(0, 1), live, tuple(own), order, epsilon)
        for own, order in zip(weights, (places, reversed(places)), strict=False)
    ]
    return torch.cat(sides, -1).transpose(0, 1)


def _gru_walk(
    x: Tensor, live: Tensor, weights: tuple[Tensor, ...], places: Iterable[int], epsilon: float
) -> Tensor:
    """PyTorch's order of gates is reset, update, candidate."""
    inward, recurrent, bias, again = weights
    size = recurrent.shape[1]
    rows = slice(2 * size, 3 * size)
    inputs = F.linear(x, inward, bias)
    h = x.new_zeros(x.shape[1], size)
    states = list(x.new_zeros(len(x), *h.shape))
    for place in places:
        gates = inputs[place] + F.linear(h, recurrent, again)
        reset, update = gates.detach()[:, : 2 * size].sigmoid().chunk(2, -1)
        before = F.linear(h, recurrent[rows], again[rows])
        candidate = stable(inputs[place][:, rows] + reset * before, epsilon)
        signal = passing(candidate, candidate.detach().tanh())
        h = stable(((1 - update) * signal + update * h) * live[place], epsilon)
        states[place] = h
    return torch.stack(states)


def _lstm_walk(
    x: Tensor, live: Tensor, weights: tuple[Tensor, ...], places: Iterable[int], epsilon: float
) -> Tensor:
    """PyTorch's order of gates is input, forget, candidate, output."""
    inward, recurrent, *biases = weights
    bias = biases[0] + biases[1]
    size = recurrent.shape[1]
    rows = slice(2 * size, 3 * size)
    candidates = F.linear(x, inward[rows], bias[rows])
    with torch.no_grad():
        inputs = F.linear(x, inward, bias)
    h = c = x.new_zeros(x.shape[1], size)
    states = list(x.new_zeros(len(x), *h.shape))
    for place in places:
        gates = (inputs[place] + F.linear(h.detach(), recurrent.detach())).sigmoid()
        enter, forget, _, leave = gates.chunk(4, -1)
        candidate = stable(candidates[place] + F.linear(h, recurrent[rows]), epsilon)
        signal = passing(candidate, candidate.detach().tanh())
        c = stable((forget * c + enter * signal) * live[place], epsilon)  # cleared on padding
        h = leave * passing(c, c.detach().tanh())
        states[place] = h
    return torch.stack(states)
