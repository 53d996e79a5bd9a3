"""Softmax over the positions that may be attended; the others get exactly zero."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def masked_softmax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """A row with nothing to attend to is all zeros, so its context is zero too."""
    scores = scores.masked_fill(~mask, float("-inf"))
    top = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    powers = (scores - top.detach()).exp()
    return powers / powers.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
