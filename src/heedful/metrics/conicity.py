"""Conicity of states: how narrow the cone is that they lie in (mohankumar2020)."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F


def conicity(states: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " b"]:
    """The mean over real tokens of |cos(h_t, mean h)|: 1 where all point one way."""
    there = mask.to(states.dtype)
    count = there.sum(-1).clamp_min(1)
    mean = (states * there[..., None]).sum(1) / count[:, None]
    cosine = F.cosine_similarity(states, mean[:, None], dim=-1).abs()
    return (cosine * there).sum(-1) / count
