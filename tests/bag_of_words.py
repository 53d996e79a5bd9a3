"""A model that can be worked out on paper: one logit, the sum of its words' weights, and of some
pairs'."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from heedful.models import Family, probabilities
from heedful.types import Batch, Edits, Embeddings, Keep, Model, SiteSpec, Trace
from tiny import END, START, WORDS, batch_of

UNKNOWN = 1


class BagOfWords(Family):
    """Any way to remove a word does the same to it. A text with both tokens of a pair gets
    the pair's weight once more. `rows` counts texts that went through."""

    sites: tuple[SiteSpec, ...] = ()
    fillers: Mapping[str, int] = {"unk": UNKNOWN}

    def __init__(
        self,
        weights: Mapping[int, float],
        bias: float = 0.0,
        pairs: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        super().__init__()
        self.table = torch.zeros(64, dtype=torch.float64)
        for token, weight in weights.items():
            self.table[token] = weight
        self.bias, self.pairs, self.rows = bias, pairs or {}, 0

    def embed(self, batch: Batch) -> Embeddings:
        return {"a": self.table[batch.texts["a"].tokens][..., None]}

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        return dict(given or self.embed(batch))

    def run(self, batch: Batch, embedded: Embeddings, edits: Edits, keep: Keep) -> Trace:
        text = batch.texts["a"]
        seen = text.mask if text.hidden is None else text.mask & ~text.hidden
        self.rows += len(batch)
        logits = (embedded["a"][..., 0] * seen).sum(-1) + self.bias
        for tokens, weight in self.pairs.items():
            first, second = ((text.tokens == token) & seen for token in tokens)
            logits = logits + weight * (first.any(-1) & second.any(-1))
        return Trace(logits[:, None], {}, {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        raise NotImplementedError


def bag_of_words(pairs: Mapping[tuple[int, int], float] | None = None) -> BagOfWords:
    """With a weight drawn for every word; padding, the unknown word and the ends have none."""
    weights = torch.randn(WORDS, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return BagOfWords(dict(enumerate(weights.tolist()[4:], 4)), pairs=pairs)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def weights_as_scores(model: BagOfWords, batch: Batch) -> Tensor:
    """The perfect map for class 1: each word's weight (`tiny` texts: word i is token i + 1)."""
    return (model.embed(batch)["a"][..., 0] * batch.texts["a"].mask)[:, 1:-1]


def texts(*rows: list[int]) -> Batch:
    """Words between the marks of beginning and end, all of class 1."""
    ids = tuple(f"text-{i}" for i in range(len(rows)))
    return batch_of([[START, *row, END] for row in rows], ids, [1] * len(rows), 0)


def predicted(model: Model, batch: Batch) -> Tensor:
    """The class that the model gives each text."""
    with torch.no_grad():
        return probabilities(model(batch).logits).argmax(-1)
