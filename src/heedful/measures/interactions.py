"""Interactions: what two words do together beyond what each does alone.

No map of single words can show it; it is measured for the pairs of the top words only.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import logit
from heedful.saliency import subset_values
from heedful.types import Batch, Model, Target
from heedful.words import word_mask


@dataclass(frozen=True)
class Interactions:
    """The top words of each text, the highest first (−1 where there are fewer), and their
    pairs' interactions: symmetric, NaN on the diagonal and where there is no pair."""

    words: Int[Tensor, "b k"]
    values: Float[Tensor, "b k k"]


def interactions(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    scores: Float[Tensor, "b w"],
    target: Target = logit,
    top: int = 5,
    operator: str = "mask",
) -> Interactions:
    """f(x) − f(x∖i) − f(x∖j) + f(x∖{i, j}): positive where i and j help each other."""
    words = top_words(scores, word_mask(batch.texts["a"]), top)
    alone, k = _members(words, scores.shape[1]), words.shape[1]
    first, second = torch.triu_indices(k, k, 1, device=words.device)
    gone = torch.cat([torch.zeros_like(alone[:, :1]), alone, alone[:, first] | alone[:, second]], 1)
    values = subset_values(model, batch, (target, label), gone, operator)
    whole, less, pairs = values[:, :1], values[:, 1 : k + 1], values[:, k + 1 :]
    together = whole - less[:, first] - less[:, second] + pairs
    missing = (words[:, first] < 0) | (words[:, second] < 0)
    return Interactions(words, _symmetric(together.masked_fill(missing, torch.nan), k))


def top_words(
    scores: Float[Tensor, "b w"], there: Bool[Tensor, "b w"], top: int
) -> Int[Tensor, "b k"]:
    """Words by descending score, the earlier first where they tie."""
    if top < 2:
        raise HeedfulError(f"interactions need pairs, and top is {top}: choose 2 or more.")
    shown = scores.masked_fill(~there, float("-inf"))
    order = shown.argsort(dim=-1, descending=True, stable=True)
    place = torch.arange(min(top, scores.shape[1]), device=scores.device)
    return order[:, : len(place)].masked_fill(place >= there.sum(-1, keepdim=True), -1)


def _members(words: Int[Tensor, "b k"], width: int) -> Bool[Tensor, "b k w"]:
    return words[..., None] == torch.arange(width, device=words.device)


def _symmetric(pairs: Float[Tensor, "b p"], k: int) -> Float[Tensor, "b k k"]:
    first, second = torch.triu_indices(k, k, 1, device=pairs.device)
    out = torch.full((len(pairs), k, k), torch.nan, dtype=pairs.dtype, device=pairs.device)
    out[:, first, second] = out[:, second, first] = pairs
    return out
