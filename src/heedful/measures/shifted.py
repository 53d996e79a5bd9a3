"""A model whose embeddings of one batch are moved a little: what a sensitivity test explains."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, Model, SiteSpec, Text, Trace


class Shifted:
    """Wraps a model; side `a` of `batch` is seen with noise. Noise is keyed by example, token
    and dimension, so batch size and padding do not change it."""

    def __init__(self, model: Model, batch: Batch, radius: float, seed: int, draw: int) -> None:
        self._model, self._batch = model, batch
        own = model.embed(batch)
        noise = _noise(own["a"], batch, radius, seed, draw)
        self._moved: Embeddings = {**own, "a": own["a"] + noise}

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return self._model.sites

    @property
    def fillers(self) -> Mapping[str, int]:
        return self._model.fillers

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
        return self._model(batch, edits, keep, given)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self._model.resume(batch, trace, edits)

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
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
