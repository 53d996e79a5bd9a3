"""The share of an explanation's mass that lies inside a rationale."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def mass_inside(
    scores: Float[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Σ |score| inside over Σ |score|. NaN for an empty rationale, or where all scores are 0."""
    size = scores.double().abs().masked_fill(~mask, 0.0)
    share = (size * (rationale & mask)).sum(-1) / size.sum(-1)  # 0/0 = NaN
    return torch.where((rationale & mask).any(-1), share, torch.nan)


PIECE = Piece(
    name="mass_inside",
    description="share of the scores' magnitude inside the rationale",
    make=mass_inside,
    paper="mohankumar2020",
    higher_is_better=True,
    formula="Σ_{t in rationale} |s_t| / Σ_t |s_t|",
    range=SHARE,
    higher="more of the explanation lies on marked words",
    cost="the number of words",
    limits=(
        "Even scores have the rationale's share of the words. It depends on how sharp a map is, "
        "not on its order alone."
    ),
)
