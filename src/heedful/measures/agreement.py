"""Do two explanations order the words of a text alike?

Attention has no sign, so it is compared with the magnitude of an importance: a word that
speaks against the decision is important too. Only two signed explanations are compared
with their signs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.metrics import TOLERANCE, KendallResult, kendall_tau_b, tied_ranks

Scores = Float[Tensor, "b w"]


def agreement(
    explanations: Mapping[str, Scores],
    mask: Bool[Tensor, "b w"],
    signed: Collection[str] = (),
    weights: Collection[str] = ("attention",),
    precision: torch.dtype = torch.float32,
) -> dict[tuple[str, str], KendallResult]:
    """τ-b over words of every pair, in the order given; `ties_x` and `ties_y` are the share of
    pairs of words that tie.

    `signed` names the explanations whose sign means something, `weights` those that come from
    a softmax (their rounding error is a share of each weight; otherwise of the text's largest
    score), `precision` what the model computed in: closer scores than it can tell tie.
    """
    tolerance = TOLERANCE[precision]
    return {
        (a, b): kendall_tau_b(
            _ranks(explanations[a], mask, {a, b} <= set(signed), tolerance, a in weights),
            _ranks(explanations[b], mask, {a, b} <= set(signed), tolerance, b in weights),
            mask,
        )
        for a, b in combinations(explanations, 2)
    }


def _ranks(
    scores: Scores, mask: Tensor, with_sign: bool, tolerance: float, own_scale: bool
) -> Int[Tensor, "b w"] | Scores:
    """Ranks with ties by tolerance; a row with NaN keeps it, so that its τ is undefined."""
    shown = scores if with_sign else scores.abs()
    ranks = tied_ranks(shown, mask, tolerance, own_scale).double()
    undefined = (scores.isnan() & mask).any(-1, keepdim=True)
    return torch.where(undefined, torch.nan, ranks)
