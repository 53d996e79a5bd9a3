"""A model whose logit is the sum of its words' weights, and of some pairs'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteSpec, Trace
from tiny import WORDS


@dataclass(frozen=True)
class BagOfWords:
    """`weights` by token id; tokens 0 (padding), 1 (removed), 2 and 3 (ends) weigh nothing.
    A text with both tokens of a pair gets the pair's weight once more."""

    weights: Tensor
    pairs: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return ()

    @property
    def fillers(self) -> Mapping[str, int]:
        return {"unk": 1}

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        tokens = batch.texts["a"].tokens
        logits = self.weights[tokens].sum(-1)
        for (one, two), weight in self.pairs.items():
            logits = logits + weight * ((tokens == one).any(-1) & (tokens == two).any(-1))
        return Trace(logits[:, None], {}, {})

    def embed(self, batch: Batch) -> Embeddings:
        raise NotImplementedError

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        raise NotImplementedError

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        raise NotImplementedError


def bag_of_words(pairs: Mapping[tuple[int, int], float] | None = None) -> BagOfWords:
    weights = torch.randn(WORDS, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    weights[:4] = 0
    return BagOfWords(weights, pairs or {})
