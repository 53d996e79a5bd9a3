"""Agreement at the top of two rankings."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from heedful.catalogue import SHARE, SIGNED, Measure, Piece
from heedful.metrics.kendall import KendallResult, kendall_tau_b


def top_k_tau(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int
) -> KendallResult:
    """Kendall's τ-b over the union of both sides' top k: long tails of near-equal weights,
    which dominate τ on long texts, are left out. `n` is the size of the union."""
    return kendall_tau_b(x, y, top_k(x, mask, k) | top_k(y, mask, k))


def top_k_overlap(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int
) -> Float[Tensor, " n"]:
    """|top k of x ∩ top k of y| / k, with k capped at the row's length; NaN for no token."""
    both = (top_k(x, mask, k) & top_k(y, mask, k)).sum(-1)
    return both.to(torch.float64) / mask.sum(-1).clamp(max=k)


def top_k(x: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int) -> Bool[Tensor, "n k"]:
    """The k largest unmasked positions of each row; among equals the earlier wins."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    by_value = x.detach().sort(dim=-1, descending=True, stable=True).indices
    masked = (~mask).gather(-1, by_value).to(torch.int8)
    order = by_value.gather(-1, masked.sort(dim=-1, stable=True).indices)  # masked last
    first = torch.zeros_like(mask).scatter(-1, order[:, :k], True)
    return first & mask


PIECE = Piece(
    name="top_k",
    description="Kendall's τ-b over the tokens that either score ranks among its k highest",
    make=top_k_tau,
    version=1,
    paper="",
    higher_is_better=True,
    signed=True,
    measures={
        "tau": Measure("τ-b over the union of both top-k sets", True, signed=True, range=SIGNED),
        "overlap": Measure("share of the top k that both scores name", True, range=SHARE),
    },
    formula="τ_b over top_k(x) ∪ top_k(y); overlap = |top_k(x) ∩ top_k(y)| / k",
    range=SIGNED,
    higher="the tokens at the top are ordered more alike, or more of them are the same",
    cost="sorting the tokens of each text",
    limits=(
        "Of unrelated scores τ is below 0 here, since each token in the union is high on one "
        "side; the overlap they have by chance is about k/n. k is a choice."
    ),
)
