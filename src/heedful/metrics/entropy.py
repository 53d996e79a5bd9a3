"""Shannon entropy of attention."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import Piece


def entropy(p: Float[Tensor, "*b k"]) -> Float[Tensor, "*b"]:
    """−Σ_t p_t log p_t in nats; zeros contribute exactly 0, and their gradient is 0."""
    live = p > 0
    safe = torch.where(live, p, torch.ones_like(p))
    # The sum of terms −p log p ≥ 0: negating each keeps 0 from becoming −0.
    return (safe * -safe.log()).sum(-1)


PIECE = Piece(
    name="entropy",
    description="entropy of an attention distribution (nats)",
    make=entropy,
    version=1,
    paper="",
    higher_is_better=None,
    signed=False,
)
