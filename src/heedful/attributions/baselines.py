"""Baselines that never look at the model: how rare a word is or how early it stands, and noise.

Rare words matter more than common ones, and beginnings more than ends. An explanation that
does no better says nothing about this model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import NOT_NEGATIVE, SHARE, Attribution, by_name
from heedful.errors import unknown_name
from heedful.models import probability
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model, Target, Text
from heedful.words import word_mask, word_numbers

KINDS = ("type", "position")
Type = tuple[int, ...]
"""A word type: the token ids of the word, in order."""


def prior(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    kind: str = "type",
    counts: Mapping[Type, int] | None = None,
    texts: int | None = None,
) -> Float[Tensor, "b w"]:
    """What can be said of words without looking at the model.

    `kind` is `type`, log((1 + texts) / (1 + texts with the word)), or `position`, from 1 down to
    1/n.

    `counts` says in how many of `texts` texts a word type occurs. Without it they are counted
    in this batch, and then it matters what else is in the batch: see `fit_prior`.
    """
    if kind not in KINDS:
        raise unknown_name("prior", kind, list(KINDS))
    there = word_mask(batch.texts["a"])
    if kind == "position":  # words that are there, counted from the last one to the first
        left = there.flip(-1).cumsum(-1).flip(-1).double()
        return left * there / left[:, :1].clamp_min(1)
    if counts is None:
        counts, texts = _counted([batch])
    texts = texts or max(counts.values(), default=0)
    scores = torch.zeros(there.shape, dtype=torch.float64)
    for row, types in enumerate(_types(batch.texts["a"])):
        for number, word in types.items():
            scores[row, number] = log((1 + texts) / (1 + counts.get(word, 0)))
    return scores.to(there.device)


@dataclass(frozen=True)
class Prior:
    """A saliency that has counted its words already, so that no batch changes it."""

    kind: str = "type"
    counts: Mapping[Type, int] = field(default_factory=dict)
    texts: int = 0

    def __call__(
        self, model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
    ) -> Float[Tensor, "b w"]:
        return prior(model, batch, label, target, self.kind, self.counts, self.texts)

    @property
    def piece(self) -> Attribution:
        """The same facts as `prior`'s; what `explain` takes."""
        entry: Attribution = ENTRIES["prior"]
        return replace(entry, make=self)


def fit_prior(batches: Iterable[Batch], kind: str = "type") -> Prior:
    """Counts in how many of these texts each word type occurs."""
    return Prior(kind, *_counted(batches))


def _counted(batches: Iterable[Batch]) -> tuple[Counter[Type], int]:
    counts: Counter[Type] = Counter()
    texts = 0
    for batch in batches:
        for types in _types(batch.texts["a"]):
            counts.update(set(types.values()))
            texts += 1
    return counts, texts


def _types(text: Text) -> Iterator[dict[int, Type]]:
    """The word types of each text, by the number of the word."""
    for tokens, numbers in zip(text.tokens.tolist(), word_numbers(text).tolist(), strict=True):
        types: dict[int, Type] = {}
        for token, number in zip(tokens, numbers, strict=True):
            if number >= 0:
                types[number] = (*types.get(number, ()), token)
        yield types


def random(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    seed: int = 0,
) -> Float[Tensor, "b w"]:
    """Uniform noise in (0, 1): only the seed, the example's id and the word's place decide."""
    there = word_mask(batch.texts["a"])
    keys = example_keys(seed, batch.ids, "random explanation").to(there.device)
    return keyed_uniform(keys, (there.shape[1],)) * there


ENTRIES = by_name(
    Attribution(
        name="prior",
        description="how rare a word type is, or how early it stands; the model is not looked at",
        make=prior,
        uses=(),
        signed=False,
        level="words",
        formula=(
            "ln((1 + N) / (1 + N_w)): N_w of N texts have the word; by position (n − i + 1) / n"
        ),
        range=NOT_NEGATIVE,
        higher="the word is rarer, or stands earlier",
        cost="counting words once",
        limits="It never looks at the model: it is what an explanation has to beat.",
    ),
    Attribution(
        name="random",
        description="uniform noise: what an explanation that knows nothing reaches",
        make=random,
        uses=(),
        signed=False,
        level="words",
        formula="U(0, 1), drawn by example and word",
        range=SHARE,
        higher="nothing",
        cost="nothing",
        limits="It knows nothing: it is what an explanation has to beat.",
    ),
)
