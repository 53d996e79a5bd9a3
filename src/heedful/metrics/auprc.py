"""Area under the precision-recall curve of scores against a rationale."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def auprc(
    scores: Num[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Average precision, Σ (R_i − R_{i−1}) P_i over the distinct scores (ERASER; equal to
    scikit-learn's): no trapezoids, and words that tie come at once. NaN for a rationale of
    no word or of every word: all orders are then alike."""
    inside = rationale & mask
    shown = torch.where(mask, scores.double(), -torch.inf)
    ordered, order = shown.sort(dim=-1, descending=True)
    hits = inside.gather(-1, order).double()
    seen = torch.arange(1, hits.shape[1] + 1, device=hits.device)
    precision = _at_last_of_ties(ordered, hits.cumsum(-1) / seen)
    size = inside.sum(-1)
    area = (hits * precision).sum(-1) / size
    return torch.where((size == 0) | (size == mask.sum(-1)) | _nan(scores, mask), torch.nan, area)


def _at_last_of_ties(ordered: Tensor, values: Tensor) -> Tensor:
    """Each place takes the value at the end of its run of equal scores."""
    k = ordered.shape[1]
    place = torch.arange(k, device=ordered.device).expand(ordered.shape)
    goes_on = torch.nn.functional.pad(ordered[:, 1:] == ordered[:, :-1], (0, 1))[:, :k]
    ends = torch.where(goes_on, k, place).flip(-1).cummin(-1).values.flip(-1) if k else place
    return values.gather(-1, ends)


def _nan(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores.double().isnan() & mask).any(-1)


PIECE = Piece(
    name="auprc",
    description="area under the precision-recall curve of scores against a rationale",
    make=auprc,
    paper="deyoung2020",
    higher_is_better=True,
    formula=(
        "Σ_i (R_i − R_{i−1}) P_i over the distinct scores from the highest on: recall R and "
        "precision P"
    ),
    range=SHARE,
    higher="marked words stand nearer to the top",
    cost="sorting the words of each text",
    limits=(
        "Chance gets about the rationale's share of the words, so long rationales score higher. "
        "It says what people find plausible, nothing about the model."
    ),
)
