"""Sinusoids for positions: there is one for every position, so no text is too long."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoids(first: int, count: int, like: Float[Tensor, "... d"]) -> Float[Tensor, "n d"]:
    """Positions `first` and on, as wide as `like`: sines in the even columns, cosines in the
    odd ones, wavelengths from 2π to 10000 · 2π (Vaswani et al. 2017)."""
    width = like.shape[-1]
    place = torch.arange(first, first + count, dtype=torch.float64, device=like.device)
    pair = torch.arange(0, width, 2, dtype=torch.float64, device=like.device)
    angle = place[:, None] / 10000 ** (pair / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(like.dtype)
