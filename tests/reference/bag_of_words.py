"""A model that can be worked out on paper: one logit, the sum of its words' weights."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    SiteSpec,
    Trace,
)

UNKNOWN = 1


class BagOfWords:
    """Any way to remove a word does the same to it. `rows` counts texts that went through."""

    sites: tuple[SiteSpec, ...] = ()
    fillers: Mapping[str, int] = {"unk": UNKNOWN}

    def __init__(self, weights: Mapping[int, float], bias: float = 0.0) -> None:
        self.table = torch.zeros(64, dtype=torch.float64)
        for token, weight in weights.items():
            self.table[token] = weight
        self.bias, self.rows = bias, 0

    def embed(self, batch: Batch) -> Embeddings:
        return {"a": self.table[batch.texts["a"].tokens][..., None]}

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        text = batch.texts["a"]
        seen = text.mask if text.hidden is None else text.mask & ~text.hidden
        self.rows += len(batch)
        inputs = self.embed(batch)["a"] if embeddings is None else embeddings["a"]
        return Trace((inputs[..., 0] * seen).sum(-1, keepdim=True) + self.bias, {}, {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        raise NotImplementedError

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        raise NotImplementedError


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def weights_as_scores(model: BagOfWords, batch: Batch) -> Tensor:
    """The perfect map for class 1: each word's weight (`tiny` texts: word i is token i + 1)."""
    return (model.embed(batch)["a"][..., 0] * batch.texts["a"].mask)[:, 1:-1]
