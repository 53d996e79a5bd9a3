"""Clenshaw and Curtis' rule: a rule of twice as many steps has all nodes of the one before."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


@cache
def nodes(steps: int) -> tuple[Tensor, Tensor]:
    """Places and weights on [0, 1], float64: the extrema of a Chebyshev polynomial, and what
    integrates the polynomial through values at them."""
    angle = torch.arange(steps + 1, dtype=torch.float64) * (torch.pi / steps)
    k = torch.arange(1, steps // 2 + 1, dtype=torch.float64)
    share = torch.where(2 * k == steps, 1.0, 2.0) / (4 * k**2 - 1)
    weights = (1 - torch.cos(2 * angle[:, None] * k) @ share) / steps
    weights[[0, -1]] /= 2
    return torch.sin(angle / 2) ** 2, weights
