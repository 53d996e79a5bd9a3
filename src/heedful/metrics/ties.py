"""Which scores are equal? Rounding must not decide.

Equal words can get scores that differ in the last bit, depending on what else is in the
batch. Scores closer to their neighbour than a tolerance are therefore tied: each row is
turned into ranks, and rank measures see those.

The error of a softmax weight is a share of the weight itself, however small it is; that of
a difference of outputs, or of a sum of products, is a share of the row's largest.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

TOLERANCE = {
    torch.bfloat16: 1e-2,
    torch.float16: 1e-3,
    torch.float32: 1e-5,
    torch.float64: 1e-10,
}
"""For scores that were computed in this precision: several times the rounding of what equal words
get, which in single precision was seen to be up to 2e-6 of the row's largest."""


def tied_ranks(
    x: Float[Tensor, "n k"], mask: Bool[Tensor, "n k"], tolerance: float, own_scale: bool = False
) -> Int[Tensor, "n k"]:
    """Ranks from 0, equal for tied scores; −1 at masked positions.

    The tolerance is a share of the row's largest magnitude, or with `own_scale` of the larger
    of the two neighbours.
    """
    shown = x.double().masked_fill(~mask, torch.inf)
    ordered, order = shown.sort(dim=-1)
    if own_scale:
        scale = torch.maximum(ordered[:, 1:].abs(), ordered[:, :-1].abs())
    else:
        scale = x.double().masked_fill(~mask, 0.0).abs().amax(-1, keepdim=True)
    steps = ordered.diff(dim=-1) > tolerance * scale
    ranks = torch.nn.functional.pad(steps.long().cumsum(-1), (1, 0))
    return torch.full_like(ranks, -1).scatter(-1, order, ranks).masked_fill(~mask, -1)


def first_largest(
    x: Float[Tensor, "n k"], mask: Bool[Tensor, "n k"], tolerance: float
) -> Int[Tensor, " n"]:
    """The place of each row's largest score; of several that tie with it, the first."""
    shown = x.double().masked_fill(~mask, -torch.inf)
    scale = x.double().masked_fill(~mask, 0.0).abs().amax(-1, keepdim=True)
    tied = shown >= shown.amax(-1, keepdim=True) - tolerance * scale
    return tied.to(torch.uint8).argmax(-1)
