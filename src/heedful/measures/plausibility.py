"""Does an explanation point where people point? A question about readers, not about the model.

Rationales are sets of words. Where a set of words is asked of an explanation, it gives its
top k, with k the size of the rationale: no threshold is fitted. Texts whose rationale is
empty or everything say nothing about an order of words and are NaN for every measure.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, Measure
from heedful.measures.curves import ranking
from heedful.metrics import TOLERANCE, auprc, iou_f1, mass_inside, tied_ranks, token_f1

PLAUSIBILITY_MEASURES = {
    "auprc": Measure("average precision of the rationale's words", True, range=SHARE),
    "token_f1": Measure("F1 of the top k words, k the rationale's size", True, range=SHARE),
    "iou_f1": Measure("F1 of the top k words' spans, matched at IOU ≥ 0.5", True, range=SHARE),
    "mass_inside": Measure(
        "share of the scores' magnitude inside the rationale", True, range=SHARE
    ),
}

Values = dict[str, Float[Tensor, " b"]]


def plausibility(
    scores: Float[Tensor, "b w"],
    rationale: Bool[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    ids: tuple[str, ...],
    seed: int = 0,
) -> Values:
    """Every measure of one explanation. Ties among the top k fall by chance, keyed by example."""
    rationale = rationale & mask
    size = rationale.sum(-1)
    top = (ranking(scores, mask, ids, seed) < size[:, None]) & mask
    ranks = tied_ranks(scores, mask, TOLERANCE[torch.float32])
    values = {
        "auprc": auprc(ranks, rationale, mask),
        "token_f1": token_f1(top, rationale, mask),
        "iou_f1": iou_f1(top, rationale, mask),
        "mass_inside": mass_inside(scores, rationale, mask),
    }
    numbers = (scores.isfinite() | ~mask).all(-1)
    return _only(values, numbers & _informative(rationale, mask))


def plausibility_of(
    explanations: Mapping[str, Float[Tensor, "b w"]],
    rationale: Bool[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    ids: tuple[str, ...],
    seed: int = 0,
) -> dict[str, Values]:
    """Every measure of several explanations."""
    return {
        name: plausibility(scores, rationale, mask, ids, seed)
        for name, scores in explanations.items()
    }


def _informative(rationale: Tensor, mask: Tensor) -> Tensor:
    size = rationale.sum(-1)
    return (size > 0) & (size < mask.sum(-1))


def _only(values: Values, where: Tensor) -> Values:
    return {name: torch.where(where, value, torch.nan) for name, value in values.items()}
