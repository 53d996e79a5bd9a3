"""A gate on each position that may be attended; the others get exactly zero."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def masked_sigmoid(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Each weight depends on its own score alone, so a row sums to anything from 0 to its
    length."""
    # masked before the sigmoid: what stands in padding must not reach a gradient either
    return torch.sigmoid(scores.masked_fill(~mask, 0.0)) * mask
