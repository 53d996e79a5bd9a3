"""Area under the precision-recall curve of scores against a rationale."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def auprc(
    scores: Num[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Average precision, Σ (R_i − R_{i−1}) P_i over the distinct scores (equal to
    scikit-learn's): no trapezoids, and words that tie come at once. NaN for a rationale of
    no word or of every word: all orders are then alike."""
    hits, precision, _ = _curve(scores, rationale, mask)
    size = hits.sum(-1)
    area = (hits * precision).sum(-1) / size
    return torch.where((size == 0) | (size == mask.sum(-1)) | _nan(scores, mask), torch.nan, area)


def auprc_by_trapezoids(
    scores: Num[Tensor, "n k"], rationale: Bool[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> Float[Tensor, " n"]:
    """Trapezoids between the points of the curve, which begins at recall 0 and precision 1: the
    AUPRC of DeYoung et al. 2020. NaN for a rationale of no word; 1 for one of every word."""
    hits, precision, recall = _curve(scores, rationale, mask)
    points = [torch.nn.functional.pad(recall, (1, 0)), _begun(precision)]
    area = torch.trapezoid(points[1], points[0], dim=-1)
    return torch.where((hits.sum(-1) == 0) | _nan(scores, mask), torch.nan, area)


def _curve(scores: Tensor, rationale: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From the highest score on: whether each word is marked, and precision and recall once all
    words of its score are there. Where no word is, both stay as they were."""
    inside = rationale & mask
    shown = torch.where(mask, scores.double(), -torch.inf)
    ordered, order = shown.sort(dim=-1, descending=True, stable=True)
    hits = inside.gather(-1, order).double()
    seen = mask.gather(-1, order).double().cumsum(-1).clamp_min(1)
    precision = _at_last_of_ties(ordered, hits.cumsum(-1) / seen)
    recall = _at_last_of_ties(ordered, hits.cumsum(-1) / hits.sum(-1, keepdim=True).clamp_min(1))
    return hits, precision, recall


def _begun(precision: Tensor) -> Tensor:
    return torch.nn.functional.pad(precision, (1, 0), value=1.0)


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
    description="average precision: area under the precision-recall curve, by steps",
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
        "Not ERASER's, which takes trapezoids (`eraser_auprc`). "
        "Chance gets about the rationale's share of the words, so long rationales score higher. "
        "It says what people find plausible, nothing about the model."
    ),
)
