"""Captum on the same model: one text at a time as its tutorials do, or many as well as it can.

What samples is in `captum_sampled`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from captum.attr import (
    FeatureAblation,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    Saliency,
)
from torch import Tensor

from bench.captum_data import MASK, batches
from heedful.types import Batch
from heedful.words import to_words, word_numbers

Scores = dict[str, Tensor]


@dataclass(frozen=True)
class Captum:
    """`size` texts at once; `at_once` rows (steps or perturbations) of each text, or of all."""

    module: Any
    size: int = 1
    at_once: int | None = None

    def gradient(self, texts: Batch) -> Scores:
        """The norm of the gradient, token by token, added up over a word's tokens."""
        method = Saliency(self.from_embedded)

        def scores(batch: Batch) -> Tensor:
            text = batch.texts["a"]
            embedded = self.embedding(text.tokens).detach().requires_grad_()
            slopes = method.attribute(embedded, abs=False, additional_forward_args=seen(batch))
            return to_words(slopes.detach().double().norm(dim=-1), text)

        return self.each(texts, scores)

    def gradient_input(self, texts: Batch) -> Scores:
        method = LayerGradientXActivation(self.output, self.embedding)

        def scores(batch: Batch) -> Tensor:
            found = method.attribute(batch.texts["a"].tokens, additional_forward_args=seen(batch))
            return to_words(found.detach().sum(-1), batch.texts["a"])

        return self.each(texts, scores)

    def integrated_gradients(self, texts: Batch, steps: int) -> tuple[Scores, Scores]:
        """Word scores, and what they lack to completeness relative to the change."""
        method = LayerIntegratedGradients(self.output, self.embedding)
        gaps: Scores = {}

        def scores(batch: Batch) -> Tensor:
            text = batch.texts["a"]
            start = text.tokens.masked_fill(text.mask, MASK)
            found, gap = method.attribute(
                text.tokens,
                start,
                additional_forward_args=seen(batch),
                n_steps=steps,
                internal_batch_size=self.at_once,
                return_convergence_delta=True,
            )
            words = to_words(found.detach().sum(-1), text)
            gaps.update(zip(batch.ids, gap.abs().double(), strict=True))
            return words

        return self.each(texts, scores), gaps

    def occlusion(self, texts: Batch) -> Scores:
        method = FeatureAblation(self.output)

        def scores(batch: Batch) -> Tensor:
            text = batch.texts["a"]
            numbers = word_numbers(text)
            # without a word of their own, special tokens are one more feature, ablated to itself
            features = torch.where(numbers < 0, int(numbers.max()) + 1, numbers)
            found = method.attribute(
                text.tokens,
                baselines=text.tokens.masked_fill(text.mask, MASK),
                feature_mask=features,
                additional_forward_args=seen(batch),
                perturbations_per_eval=self.at_once or 1,
            )
            first = numbers != torch.nn.functional.pad(numbers, (1, 0), value=-1)[:, :-1]
            return to_words(found.double() * first, text)

        return self.each(texts, scores)

    @property
    def embedding(self) -> Any:
        return self.module.get_input_embeddings()

    def output(self, tokens: Tensor, seen: Tensor, label: Tensor) -> Tensor:
        logits = self.module(input_ids=tokens, attention_mask=seen).logits
        return torch.softmax(logits.double(), -1).gather(1, label[:, None])[:, 0]

    def from_embedded(self, embedded: Tensor, seen: Tensor, label: Tensor) -> Tensor:
        logits = self.module(inputs_embeds=embedded, attention_mask=seen).logits
        return torch.softmax(logits.double(), -1).gather(1, label[:, None])[:, 0]

    def each(self, texts: Batch, scores: Callable[[Batch], Tensor]) -> Scores:
        found = [(batch.ids, scores(batch)) for batch in batches(texts, self.size)]
        return {name: row for ids, rows in found for name, row in zip(ids, rows, strict=True)}


def seen(batch: Batch) -> tuple[Tensor, Tensor]:
    """What Captum hands on: the mask, and the class that is explained."""
    text = batch.texts["a"]
    place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
    return (place < text.lengths[:, None]).long(), batch.labels
