"""The states of a recurrent layer as LRP reads them, one direction at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Walk = Callable[[Tensor, Tensor, dict[str, Tensor], str, float], Tensor]
"""`(x, live, weights, suffix, ε) -> states`, time first; `live` is 0 on padding."""


def walked(
    walk: Walk,
    layer: nn.RNNBase,
    x: Float[Tensor, "b t e"],
    lengths: Int[Tensor, " b"],
    epsilon: float,
) -> Float[Tensor, "b t d"]:
    """Both directions of a layer, or the one it has; zeros after each text's end."""
    weights: dict[str, Tensor] = dict(layer.named_parameters())
    live = (torch.arange(x.shape[1], device=x.device)[:, None] < lengths)[..., None].to(x.dtype)
    suffixes = ("", "_reverse") if layer.bidirectional else ("",)
    sides = [walk(x.transpose(0, 1), live, weights, suffix, epsilon) for suffix in suffixes]
    return torch.cat(sides, -1).transpose(0, 1)
