"""Infidelity and sensitivity of an explanation (Yeh et al. 2019), and interactions of words.

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
from heedful.experiments.sanity import Reembedded
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    Model,
    Text,
    Trace,
)


def infidelity(
    removal: WordRemoval,
    explanations: Mapping[str, Float[Tensor, "b w"]],
    draws: int = 32,
    seed: int = 0,
    normalise: bool = True,
) -> dict[str, Float[Tensor, " b"]]:
    """E[(Σ_{w∈S} score_w − (f(x) − f(x without S)))²] over random sets S of words.

    With `normalise`, scores are first multiplied by the best factor for the text (theirs, and
    Captum's): attention weights and differences of p have no common unit otherwise. A map that
    predicts nothing then gets the mean square of the falls themselves.
    """
    mask = removal.mask
    sets = random_sets(mask, removal.batch.ids, draws, seed)
    gone = torch.cat([torch.zeros_like(sets[:, :1]), sets], 1)
    values = removal.answers(gone).value
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


# A model whose embeddings of one batch are moved a little: what a sensitivity test explains.


class Shifted(Reembedded):
    """Side `a` of `batch` is seen with noise, keyed by example, token and dimension, so that batch
    size and padding do not change it."""

    def __init__(self, model: Model, batch: Batch, radius: float, seed: int, draw: int) -> None:
        super().__init__(model)
        own, self._batch = model.embed(batch), batch
        noise = _noise(own["a"], batch, radius, seed, draw)
        self._moved: Embeddings = {**own, "a": own["a"] + noise}

    def embed(self, batch: Batch) -> Embeddings:
        if not _same(batch, self._batch):
            raise HeedfulError(
                "this explanation changes the text, so its sensitivity to noise cannot be "
                "measured: choose one that reads gradients or attention."
            )
        return self._moved

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        given = embeddings if embeddings is not None else self._inputs(batch, keep)
        return self.inner(batch, edits, keep, given)

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        raise HeedfulError(
            "leaving words out cannot be combined with noise on their embeddings: "
            "choose an explanation that reads gradients or attention."
        )

    def _inputs(self, batch: Batch, keep: Keep) -> Embeddings:
        """As a model does by itself: leaves to differentiate by, where they are asked for."""
        moved = self.embed(batch)
        if not (keep.embeddings and torch.is_grad_enabled()):
            return moved
        return {side: each.detach().clone().requires_grad_() for side, each in moved.items()}


def _noise(own: Tensor, batch: Batch, radius: float, seed: int, draw: int) -> Tensor:
    mask = batch.texts["a"].mask
    keys = example_keys(seed, batch.ids, "sensitivity", draw).to(own.device)
    sides = 2 * keyed_uniform(keys, tuple(own.shape[1:])) - 1
    squares = own.double().square().mean(-1).masked_fill(~mask, 0.0).sum(-1)
    scale = (squares / mask.sum(-1).clamp(min=1)).sqrt()
    return (radius * scale[:, None, None] * sides * mask[..., None]).to(own.dtype)


def _same(one: Batch, other: Batch) -> bool:
    return one is other or (one.ids == other.ids and _alike(one.texts["a"], other.texts["a"]))


def _alike(one: Text, other: Text) -> bool:
    return one.hidden is other.hidden and torch.equal(one.tokens, other.tokens)


# Interactions: what two words do together beyond what each does alone.
#
# No map of single words can show it; it is measured for the pairs of the top words only.


@dataclass(frozen=True)
class Interactions:
    """The top words of each text, the highest first (−1 where there are fewer), and their
    pairs' interactions: symmetric, NaN on the diagonal and where there is no pair."""

    words: Int[Tensor, "b k"]
    values: Float[Tensor, "b k k"]


def interactions(removal: WordRemoval, scores: Float[Tensor, "b w"], top: int = 5) -> Interactions:
    """f(x) − f(x∖i) − f(x∖j) + f(x∖{i, j}): positive where i and j help each other."""
    words = top_words(scores, removal.mask, top)
    alone, k = _members(words, scores.shape[1]), words.shape[1]
    first, second = torch.triu_indices(k, k, 1, device=words.device)
    gone = torch.cat([torch.zeros_like(alone[:, :1]), alone, alone[:, first] | alone[:, second]], 1)
    values = removal.answers(gone).value
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
