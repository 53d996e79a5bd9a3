"""Padding holds zeros, whatever was embedded there."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def without_padding(
    x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t e"]:
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x * real[..., None]
