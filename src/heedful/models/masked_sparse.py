"""Sparse kinds of softmax over the positions that may be attended; the others get exactly zero.

What is far below the largest score gets exactly zero as well: the weights name the few tokens
that were used, and no other was. `entmax` is imported when it is asked for: a machine that only
has what training needs otherwise does without it.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor


def masked_sparsemax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """The distribution nearest to the scores (Martins & Astudillo 2016): max(s − τ, 0)."""
    from entmax import sparsemax

    return _masked(sparsemax, scores, mask)


def masked_entmax(
    scores: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]
) -> Float[Tensor, "*n k"]:
    """Half-way to the softmax (Peters et al. 2019, α = 1.5): max(s/2 − τ, 0)²."""
    from entmax import entmax15

    return _masked(entmax15, scores, mask)


def _masked(function: Callable[[Tensor, int], Tensor], scores: Tensor, mask: Tensor) -> Tensor:
    """A row with nothing to attend to is all zeros; to the function it is a row of equals, since
    it could make no number of one that is −∞ throughout."""
    filled = scores.masked_fill(~mask, float("-inf"))
    filled = filled.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return function(filled, -1) * mask
