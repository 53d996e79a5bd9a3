"""Kullback-Leibler divergence over unmasked positions."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, Piece


def kl(
    p: Float[Tensor, "*#b k"], q: Float[Tensor, "*#b k"], mask: Bool[Tensor, "*#b k"]
) -> Float[Tensor, "*#b"]:
    """Σ_t p_t log(p_t / q_t) over the mask, in nats; +∞ where q_t = 0 < p_t.

    Masked *before* the logarithm: log 0 at padding gave NaN in wiegreffe2019's code. Where the
    value is infinite the gradient is 0, so one such row does not spoil a batch.
    """
    live = mask & (p > 0)
    finite = live & (q > 0)
    one = torch.ones((), dtype=p.dtype, device=p.device)
    p_safe, q_safe = torch.where(finite, p, one), torch.where(finite, q, one)
    terms = p_safe * (p_safe.log() - q_safe.log())
    total = torch.where(finite, terms, torch.zeros_like(one)).sum(-1)
    infinite = (live & ~finite).any(-1)
    return torch.where(infinite, torch.full_like(one, torch.inf), total)


PIECE = Piece(
    name="kl",
    description="Kullback-Leibler divergence of the first distribution from the second (nats)",
    make=kl,
    version=1,
    paper="wiegreffe2019",
    higher_is_better=None,
    signed=False,
    formula="KL(p ‖ q) = Σ_t p_t ln(p_t / q_t)",
    range=NOT_NEGATIVE,
    higher="the first has weight where the second has little: infinite where it has none",
    cost="the number of tokens",
    limits="It is not symmetric and has no upper bound, so a few texts can decide a mean.",
)
