"""Infidelity and sensitivity of an explanation (Yeh et al. 2019).

Infidelity: do a set's scores add up to what removing the set does? Sensitivity: does the
explanation change when the input hardly does?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.measures.shifted import Shifted
from heedful.models import probability
from heedful.randomness import example_keys, keyed_uniform
from heedful.removal import Operator, answers
from heedful.types import Batch, Model, Target
from heedful.words import word_mask


def infidelity(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    explanations: Mapping[str, Float[Tensor, "b w"]],
    operator: str | Operator,
    target: Target = probability,
    draws: int = 32,
    seed: int = 0,
    normalise: bool = True,
) -> dict[str, Float[Tensor, " b"]]:
    """E[(Σ_{w∈S} score_w − (f(x) − f(x without S)))²] over random sets S of words.

    With `normalise`, scores are first multiplied by the best factor for the text (theirs, and
    Captum's): attention weights and differences of p have no common unit otherwise. A map that
    predicts nothing then gets the mean square of the falls themselves.
    """
    mask = word_mask(batch.texts["a"])
    sets = random_sets(mask, batch.ids, draws, seed)
    gone = torch.cat([torch.zeros_like(sets[:, :1]), sets], 1)
    values = answers(model, batch, (target, label), gone, operator).value
    falls = values[:, :1] - values[:, 1:]
    return {
        name: _gap(scores.to(mask.device), sets, falls, normalise).masked_fill(
            ~mask.any(-1), torch.nan
        )
        for name, scores in explanations.items()
    }


def random_sets(
    mask: Bool[Tensor, "b w"], ids: tuple[str, ...], draws: int, seed: int
) -> Bool[Tensor, "b m w"]:
    """Sets of all sizes alike: each draw has a share of its own, and takes each word with it."""
    keys = example_keys(seed, ids, "infidelity").to(mask.device)
    numbers = keyed_uniform(keys, (draws, mask.shape[1] + 1))
    return (numbers[..., 1:] < numbers[..., :1]) & mask[:, None]


def _gap(scores: Tensor, sets: Tensor, falls: Tensor, normalise: bool) -> Tensor:
    sums = torch.where(sets, scores.double()[:, None], 0.0).sum(-1)
    if normalise:
        square = sums.square().sum(-1, keepdim=True)
        factor = (sums * falls).sum(-1, keepdim=True) / square
        sums = sums * torch.where(square == 0, 1.0, factor)
    return (sums - falls).square().mean(-1)


Explain = Callable[[Model, Batch, Int[Tensor, " b"]], Float[Tensor, "b w"]]
"""From a model, a batch and the explained class to word scores."""


@dataclass(frozen=True)
class Noise:
    """Uniform noise on every embedding of the text's own tokens: at most `radius` times the
    root mean square of the text's embeddings."""

    radius: float = 0.02
    draws: int = 10
    seed: int = 0


def max_sensitivity(
    model: Model, batch: Batch, label: Int[Tensor, " b"], explain: Explain, noise: Noise = Noise()
) -> Float[Tensor, " b"]:
    """max over draws of ‖Φ(x + δ) − Φ(x)‖ / ‖Φ(x)‖, by word scores Φ; NaN where Φ(x) is 0.

    The explanation is asked of a model whose embeddings are shifted. Only explanations that
    take the text as it is can be (gradients, attention): one that removes words would need the
    noise of words that moved, and `Shifted` refuses.
    """
    if noise.draws < 1:
        raise HeedfulError(f"sensitivity was asked for {noise.draws} draws: choose 1 or more.")
    plain = explain(model, batch, label)
    size = plain.norm(dim=-1)
    largest = torch.zeros_like(size)
    for draw in range(noise.draws):
        shifted = Shifted(model, batch, noise.radius, noise.seed, draw)
        change = (explain(shifted, batch, label) - plain).norm(dim=-1)
        largest = torch.maximum(largest, change)
    return torch.where(size > 0, largest / size, torch.nan)
