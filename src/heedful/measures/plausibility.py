"""Does an explanation point where people point? A question about readers, not about the model.

Rationales are sets of words. Where a set of words is asked of an explanation, it gives its
top k, with k the size of the rationale: no threshold is fitted. Texts whose rationale is
empty or everything say nothing about an order of words and are NaN for every measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import Measure
from heedful.measures.curves import ranking
from heedful.metrics.auprc import auprc
from heedful.metrics.iou_f1 import iou_f1
from heedful.metrics.mass_inside import mass_inside
from heedful.metrics.ties import TOLERANCE, tied_ranks
from heedful.metrics.token_f1 import token_f1
from heedful.randomness import example_keys, keyed_uniform

MEASURES = {
    "auprc": Measure("area under precision and recall of the rationale's words", True),
    "token_f1": Measure("F1 of the top k words, k the rationale's size", True),
    "iou_f1": Measure("F1 of the top k words' spans, matched at IOU ≥ 0.5", True),
    "mass_inside": Measure("share of the scores' magnitude inside the rationale", True),
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


def random_floor(
    rationale: Bool[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    ids: tuple[str, ...],
    draws: int = 16,
    seed: int = 0,
) -> Values:
    """What random scores get: the mean over some draws of each example's own."""
    keys = example_keys(seed, ids, "random floor").to(mask.device)
    scores = keyed_uniform(keys, (draws, mask.shape[1]))
    found = [plausibility(each, rationale, mask, ids, seed) for each in scores.unbind(1)]
    return {name: torch.stack([each[name] for each in found]).mean(0) for name in MEASURES}


@dataclass(frozen=True)
class PositionPrior:
    """How many words at each tenth (say) of a text there are, and how many inside rationales.
    Batches of a corpus are added up."""

    inside: Float[Tensor, " n"]
    words: Float[Tensor, " n"]

    def __add__(self, other: PositionPrior) -> PositionPrior:
        return PositionPrior(self.inside + other.inside, self.words + other.words)

    def scores(
        self, rationale: Bool[Tensor, "b w"], mask: Bool[Tensor, "b w"]
    ) -> Float[Tensor, "b w"]:
        """The share inside at each word's place, by all texts counted here but this one."""
        inside, words = _tally(rationale, mask, len(self.words))
        inside, words = self.inside - inside, self.words - words
        overall = inside.sum(-1, keepdim=True) / words.sum(-1, keepdim=True).clamp(min=1)
        share = torch.where(words > 0, inside / words.clamp(min=1), overall)
        return share.gather(1, _tenths(mask, len(self.words))) * mask


def position_prior(
    rationale: Bool[Tensor, "b w"], mask: Bool[Tensor, "b w"], parts: int = 10
) -> PositionPrior:
    """Counted over a batch. Its `scores` leave each text's own rationale out, so they are meant
    for the very texts that were counted."""
    inside, words = _tally(rationale, mask, parts)
    return PositionPrior(inside.sum(0), words.sum(0))


def annotator_agreement(
    rationales: Bool[Tensor, "b r w"], given: Bool[Tensor, "b r"], mask: Bool[Tensor, "b w"]
) -> Values:
    """How well annotators do on each other: the mean over ordered pairs of one's words as the
    explanation and another's as the rationale. `given` says who annotated what; NaN where
    nobody can be compared. Their own words are taken, however many: no top k."""
    found = [
        _only(_pair(rationales[:, i], rationales[:, j], mask), given[:, i] & given[:, j])
        for i, j in permutations(range(rationales.shape[1]), 2)
    ]
    nothing = torch.full((1, len(mask)), torch.nan, dtype=torch.float64, device=mask.device)
    return {
        name: torch.cat([nothing, *(each[name][None] for each in found)]).nanmean(0)
        for name in MEASURES
    }


def _pair(one: Tensor, other: Tensor, mask: Tensor) -> Values:
    values = {
        "auprc": auprc(one.double(), other, mask),
        "token_f1": token_f1(one, other, mask),
        "iou_f1": iou_f1(one, other, mask),
        "mass_inside": mass_inside(one.double(), other, mask),
    }
    return _only(values, _informative(other & mask, mask))


def _informative(rationale: Tensor, mask: Tensor) -> Tensor:
    size = rationale.sum(-1)
    return (size > 0) & (size < mask.sum(-1))


def _only(values: Values, where: Tensor) -> Values:
    return {name: torch.where(where, value, torch.nan) for name, value in values.items()}


def _tenths(mask: Bool[Tensor, "b w"], parts: int) -> Int[Tensor, "b w"]:
    """Which part of its text each word lies in, counting only words that are there."""
    place = (mask.long().cumsum(-1) - 1).clamp(min=0)
    return (place * parts) // mask.sum(-1, keepdim=True).clamp(min=1)


def _tally(rationale: Tensor, mask: Tensor, parts: int) -> tuple[Tensor, Tensor]:
    """Words inside the rationale, and words, in each part of each text."""
    nothing = torch.zeros(len(mask), parts, dtype=torch.float64, device=mask.device)
    part = _tenths(mask, parts)
    inside = nothing.scatter_add(1, part, (rationale & mask).double())
    return inside, nothing.scatter_add(1, part, mask.double())
