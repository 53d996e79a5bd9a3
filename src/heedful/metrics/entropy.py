"""Shannon entropy of attention."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, Piece


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
    citation="Shannon 1948, A Mathematical Theory of Communication",
    formula="H(p) = −Σ_t p_t ln p_t",
    range=NOT_NEGATIVE,
    higher="attention is spread over more tokens: ln n where n tokens share it evenly",
    cost="the number of tokens",
    limits=(
        "It grows with the length of a text: compare it with ln n. Concentrated attention need "
        "not be right."
    ),
)
