"""F1 of chosen words against the words of a rationale."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def token_f1(
    chosen: Bool[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """2 |both| / (|chosen| + |rationale|); NaN where the rationale is empty. Where as many
    words are chosen as the rationale has, precision, recall and F1 are the same number."""
    both = (chosen & rationale & mask).sum(-1).double()
    size = (rationale & mask).sum(-1)
    f1 = 2 * both / ((chosen & mask).sum(-1) + size)
    return torch.where(size == 0, torch.nan, f1)


PIECE = Piece(
    name="token_f1",
    description="F1 of the top words against a rationale of as many words",
    make=token_f1,
    paper="deyoung2020",
    higher_is_better=True,
    formula="2 |chosen ∩ rationale| / (|chosen| + |rationale|)",
    range=SHARE,
    higher="more of the top words are marked",
    cost="the number of words",
    limits=(
        "It depends on how many words are chosen; here as many as the rationale has, which a "
        "real explanation would not know."
    ),
)
