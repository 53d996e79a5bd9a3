"""Sums over what is left when something is taken away, by addition alone.

Total minus what has gone loses everything near the end: what is left there is a small
difference of large numbers.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def remaining(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≥ i} x_j: what is left after the first i have gone."""
    return x.flip(1).cumsum(1).flip(1)


def others(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≠ i} x_j: what is left when only the i-th has gone."""
    nothing = torch.zeros_like(x[:, :1])
    before = torch.cat([nothing, x.cumsum(1)[:, :-1]], 1)
    after = torch.cat([remaining(x)[:, 1:], nothing], 1)
    return before + after
