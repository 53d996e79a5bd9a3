"""Captum's methods that sample, set up to do what Heedful's do: same removal, kernel and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import KernelShap, Lime, NoiseTunnel, Saliency
from torch import Tensor

from bench.captum_data import MASK
from bench.captum_theirs import Captum, Scores, seen
from heedful.saliency import KERNEL_WIDTH
from heedful.types import Batch
from heedful.words import to_words, word_mask, word_numbers


@dataclass(frozen=True)
class Sampled(Captum):
    """KernelSHAP and LIME go one text at a time, as Captum's documentation advises: what is
    perturbed are the words, so special tokens are no features of theirs."""

    def smoothgrad(self, texts: Batch, samples: int, noise: float) -> Scores:
        """Captum adds the noise to a tensor of zeros, which is scaled by each text's range: its
        own scale is one number for all texts."""
        method = NoiseTunnel(Saliency(self._from_noise))
        torch.manual_seed(0)

        def scores(batch: Batch) -> Tensor:
            text = batch.texts["a"]
            embedded = self.embedding(text.tokens).detach()
            scale = noise * _range(embedded, text.mask)[:, None, None] * text.mask[..., None]
            mean = method.attribute(
                torch.zeros_like(embedded).requires_grad_(),
                nt_type="smoothgrad",
                nt_samples=samples,
                nt_samples_batch_size=self.at_once,
                stdevs=1.0,
                abs=False,
                additional_forward_args=(embedded, scale, *seen(batch)),
            )
            slopes = mean.detach().double() / scale.clamp_min(1e-12)
            return to_words(slopes.norm(dim=-1) * text.mask, text)

        return self.each(texts, scores)

    def kernel_shap(self, texts: Batch, samples: int) -> Scores:
        return self._words(texts, KernelShap(self._from_words), samples)

    def lime(self, texts: Batch, samples: int) -> Scores:
        model = SkLearnRidge(alpha=1.0)
        method = Lime(self._from_words, model, _similarity, _perturbed)
        return self._words(texts, method, samples)

    def _words(self, texts: Batch, method: Any, samples: int) -> Scores:
        torch.manual_seed(0)

        def scores(batch: Batch) -> Tensor:
            text = batch.texts["a"]
            inside = text.mask[0]
            words = text.tokens[:, inside]
            found = method.attribute(
                words,
                baselines=MASK,
                feature_mask=word_numbers(text)[:, inside],
                additional_forward_args=(text.tokens, text.mask, batch.labels),
                n_samples=samples,
                perturbations_per_eval=self.at_once or 1,
                return_input_shape=False,
            )
            return found.detach().double().reshape(1, -1)[:, : word_mask(text).shape[1]]

        return self.each(texts, scores)

    def _from_noise(
        self, noise: Tensor, embedded: Tensor, scale: Tensor, seen: Tensor, label: Tensor
    ) -> Tensor:
        return self.from_embedded(embedded + scale * noise, seen, label)

    def _from_words(self, words: Tensor, tokens: Tensor, inside: Tensor, label: Tensor) -> Tensor:
        """Between the special tokens, which stay; Captum may repeat the rest or not."""
        whole = tokens[:1].repeat(len(words), 1)
        whole[:, inside[0]] = words
        return self.output(whole, torch.ones_like(whole), label[:1].expand(len(words)))


def _perturbed(original: Tensor, **options: Any) -> Iterator[Tensor]:
    """The whole text first, then sets of 1 … n words removed, each size as likely."""
    n = options["num_interp_features"]
    yield torch.ones(1, n, device=original.device)
    while True:
        gone = torch.randperm(n)[: int(torch.randint(1, n + 1, (1,)))]
        kept = torch.ones(1, n)
        kept[0, gone] = 0
        yield kept.to(original.device)


def _similarity(original: Tensor, perturbed: Tensor, kept: Tensor, **options: Any) -> Tensor:
    """The package's kernel on 100 × the cosine distance to a row of ones."""
    distance = 100 * (1 - math.sqrt(float(kept.double().mean())))
    return torch.tensor([math.sqrt(math.exp(-(distance**2) / KERNEL_WIDTH**2))])


def _range(embedded: Tensor, mask: Tensor) -> Tensor:
    inside = mask[..., None]
    high = embedded.masked_fill(~inside, float("-inf")).amax((1, 2))
    return high - embedded.masked_fill(~inside, float("inf")).amin((1, 2))
