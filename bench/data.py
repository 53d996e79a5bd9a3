"""Generated texts of two lengths and a model that was really trained on such texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from heedful.data import CORPORA, Example, Split, build_vocabulary, table, tokenise, word_vectors
from heedful.models import OneSequence, build
from heedful.specs import ModelSpec, PrepareSpec, TrainSpec
from heedful.training import train

EMBEDDING = 300


@dataclass(frozen=True)
class Size:
    """Test texts of one length. The reference adversary runs on `adversary_batches` batches
    spread over all lengths, and its time is scaled up."""

    name: str
    texts: int
    shortest: int
    longest: int
    adversary_batches: int


@dataclass(frozen=True)
class Plan:
    """How much is measured; `adversary_steps` and `reach_steps` are optimiser steps."""

    sizes: tuple[Size, ...] = (Size("sst", 1726, 8, 30, 6), Size("imdb", 64, 90, 270, 2))
    train_short: int = 2000
    train_long: int = 200
    epochs: int = 1
    repeats: int = 3
    adversary_steps: int = 500
    reach_steps: tuple[int, ...] = (500, 2000)


FULL = Plan()
QUICK = Plan(
    (Size("sst", 10, 8, 12, 1), Size("imdb", 2, 20, 30, 1)),
    train_short=32,
    train_long=4,
    repeats=1,
    adversary_steps=5,
    reach_steps=(5, 10),
)


@dataclass(frozen=True)
class Data:
    """One vocabulary for all lengths; what `heedful.training` needs of a prepared corpus."""

    labels: tuple[str, ...]
    vectors: Tensor
    splits: dict[str, Split]
    task: str = "classification"

    @property
    def classes(self) -> int:
        return len(self.labels)

    def split(self, name: str) -> Split:
        return self.splits[name]


def generate(plan: Plan) -> Data:
    """Training texts of both lengths together, test texts apart."""
    examples: list[Example] = []
    trains = {"sst": plan.train_short, "imdb": plan.train_long}
    for size in plan.sizes:
        raw = CORPORA["planted"].make(
            None,
            n_train=trains[size.name],
            n_dev=max(16, trains[size.name] // 5),
            n_test=size.texts,
            min_length=size.shortest,
            max_length=size.longest,
            noise=0.05,
        )
        examples += [replace(each, id=f"{size.name}-{each.id}") for each in raw.examples]
    items = tokenise(examples, "given", None)
    vocabulary = build_vocabulary((i.words for i in items if i.example.split == "train"), 1)
    vectors = word_vectors(vocabulary, PrepareSpec(dimension=EMBEDDING), None).matrix
    rows = table(items, vocabulary)
    splits = {name: Split.from_table(rows[rows["split"] == name]) for name in ("train", "dev")}
    for size in plan.sizes:
        own = (rows["split"] == "test") & rows["example"].str.startswith(f"{size.name}-")
        splits[size.name] = Split.from_table(rows[own])
    return Data(raw.labels, torch.from_numpy(np.asarray(vectors)), splits)


def trained(data: Data, encoder: str, epochs: int, device: str) -> tuple[OneSequence, float]:
    """A model, and the ROC-AUC it reached on dev; trained on the CPU, so that all devices are
    given the same one."""
    model = build(ModelSpec(encoder, "additive"), data.vectors, data.classes, seed=0)
    result = train(model, data, TrainSpec(epochs=epochs), seed=0)
    return result.model.to(device), float(result.history["dev_score"].max())
