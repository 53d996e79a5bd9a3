"""Recurrent layers as torch has them: padding is packed away."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, is_grad_enabled, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def run_packed(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t d"]:
    return run_packed_from(layer, x, lengths, None)[0]


def run_packed_from(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], start: Any
) -> tuple[Float[Tensor, "b t d"], Any]:
    """States, and what the layer ended with; `start` is what another layer ended with."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    # cuDNN's backward pass wants training mode; without dropout the mode changes nothing else
    mode, layer.training = layer.training, layer.training or is_grad_enabled()
    try:
        packed, end = layer(packed, start)
    finally:
        layer.training = mode
    states, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    return states, end
