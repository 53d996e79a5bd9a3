"""Captum's methods as its tutorials use them and as well as they can be, with texts and a model."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import (
    FeatureAblation,
    KernelShap,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    Lime,
    NoiseTunnel,
    Saliency,
)
from torch import Tensor

from heedful.attributions import KERNEL_WIDTH
from heedful.types import Batch, Text
from heedful.words import to_words, word_mask, word_numbers

PAD, UNKNOWN, START, END, MASK, FIRST = 0, 100, 101, 102, 103, 1000  # BERT's own numbers
FILLERS = {"unk": UNKNOWN, "mask": MASK}


@dataclass(frozen=True)
class Size:
    """`batch` texts of like length go together, where a method takes several at once."""

    texts: int
    longest: int
    batch: int
    repeats: int


FULL, QUICK = Size(96, 40, 16, 3), Size(8, 12, 4, 1)
FEW, QUICK_FEW = Size(16, 40, 16, 3), Size(4, 10, 4, 1)  # for what asks hundreds of times a text


def classifier(quick: bool) -> tuple[Any, str]:
    """A random BERT as small as its smallest useful relatives (for a smoke run, smaller)."""
    import transformers

    torch.manual_seed(0)
    layers, width = (2, 32) if quick else (4, 256)
    config = transformers.BertConfig(
        vocab_size=FIRST + 1000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * width,
        initializer_range=0.12,
    )
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.normal_(0, 0.1)  # an output that words move, and do not saturate
    return model.eval(), f"BERT of {layers} layers of {width}"


def plain(model: Any) -> Any:
    """A copy that attends as transformers would on its own."""
    other = copy.deepcopy(model)
    other.set_attn_implementation("sdpa")
    return other.eval()


def texts(size: Size, vocabulary: int) -> Batch:
    """Random tokens, most words of one token, a third of two."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(4, size.longest + 1, size.texts)
    rows = [generator.integers(FIRST, vocabulary, n) for n in lengths]
    width = int(lengths.max()) + 2
    tokens = torch.full((size.texts, width), PAD)
    words = torch.full((size.texts, width), -1)
    for row, content in enumerate(rows):
        n = len(content)
        tokens[row, : n + 2] = torch.tensor([START, *content.tolist(), END])
        begins = generator.random(n) > 0.25
        begins[0] = True
        words[row, 1 : n + 1] = torch.from_numpy(begins.cumsum() - 1)
    ids = tuple(f"text-{row}" for row in range(size.texts))
    text = Text(tokens, torch.from_numpy(lengths + 2), words >= 0, words)
    return Batch(ids, {"a": text}, torch.zeros(size.texts, dtype=torch.long))


def batches(batch: Batch, size: int) -> Iterator[Batch]:
    """Texts of like length together; one at a time where `size` is 1."""
    for rows in batch.texts["a"].lengths.argsort(stable=True).split(size):
        yield batch.take(rows)


# Captum on the same model: one text at a time as its tutorials do, or many as well as it can.


Scores = dict[str, Tensor]


@dataclass(frozen=True)
class Captum:
    """`size` texts at once; `at_once` rows (steps or perturbations) of each text, or of all. What
    is removed becomes the `filler`."""

    module: Any
    size: int = 1
    at_once: int | None = None
    filler: int = MASK

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
            start = text.tokens.masked_fill(text.mask, self.filler)
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
                baselines=text.tokens.masked_fill(text.mask, self.filler),
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


# Captum's methods that sample, set up to do what Heedful's do: same removal, kernel and noise.


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
