"""How fast models are trained, by Heedful's own loop: texts, updates and operations a second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.gpu_bound import rates
from bench.gpu_flops import counted
from bench.gpu_texts import Made, Shape, made
from bench.gpu_time import Kernels, kernels
from heedful.models import Family, build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import Aim, loss_of, train

MODELS = {
    "BiLSTM 2×128": ModelSpec("bilstm"),
    "CNN": ModelSpec("cnn"),
    "average": ModelSpec("average"),
    "Transformer 3×256": ModelSpec("prenorm", "dot", family="transformer", dropout=0.1),
}
LENGTHS = {"SST": 19, "IMDb": 190}
BATCHES = (32, 256)
UPDATES, DIFFERENT, DEV = 24, 512, 16
ADAM_BYTES = 4 * 10  # of a number: it, its slope, three moments read; slope and four written


@dataclass(frozen=True)
class Run:
    """One model, one length, one batch size."""

    model: str
    corpus: str
    batch: int
    quick: bool

    @property
    def spec(self) -> ModelSpec:
        return MODELS[self.model]

    @property
    def data(self) -> Made:
        """The same few hundred texts again and again: making them takes longer than training."""
        kind = "generation" if self.spec.family == "transformer" else "single"
        length = 8 if self.quick else LENGTHS[self.corpus]
        words = 200 if self.quick else 14_000
        few = made(Shape(kind, length, length, words), {"train": self._different, "dev": DEV})
        many = np.arange(self.updates * self.batch) % self._different
        return Made(few.shape, {**few.splits, "train": few.split("train").subset(many)})

    @property
    def updates(self) -> int:
        return 2 if self.quick else UPDATES

    @property
    def _different(self) -> int:
        return 2 * self.batch if self.quick else DIFFERENT


def training(card: Mapping[str, Any], device: str, quick: bool) -> Iterator[dict[str, Any]]:
    for model in MODELS:
        for corpus in LENGTHS:
            for batch in (4,) if quick else BATCHES:
                yield _row(Run(model, corpus, batch, quick), card, device)


def _row(run: Run, card: Mapping[str, Any], device: str) -> dict[str, Any]:
    data = run.data
    model = build(run.spec, data.vectors, data.classes, 0)
    seconds = epoch_seconds(model, data, TrainSpec(epochs=2, batch_size=run.batch), device)
    one = TrainSpec(epochs=1, batch_size=run.batch)
    seen = kernels(lambda: train(model, data, one, 0, device), device)
    numbers = sum(each.numel() for each in model.parameters() if each.requires_grad)
    flops = update_flops(model, data, run.batch, device)
    each = seconds / run.updates
    texts = run.batch / each
    return {
        "model": run.model,
        "corpus": run.corpus,
        "batch": run.batch,
        "parameters": numbers,
        "ms_per_update": 1000 * each,
        "texts_per_second": texts,
        "tokens_per_second": texts * float(data.split("train").lengths.mean()),
        **rates(card, each, flops, ADAM_BYTES * numbers, _each(seen, run.updates)),
    }


def epoch_seconds(model: Family, data: Made, spec: TrainSpec, device: str) -> float:
    """Of the last epoch, with its batches made on the host and its few dev texts."""
    history = train(model, data, spec, 0, device).history
    return float(history["seconds"].iloc[-1])


def update_flops(model: Family, data: Made, size: int, device: str) -> int:
    """Of a typical batch, forwards and backwards."""
    split = data.split("train")
    order = np.argsort(split.lengths, kind="stable")
    start = max(0, (len(order) - size) // 2)
    batch = split.batch(order[start : start + size]).to(device)
    loss = loss_of(model.train(), data, TrainSpec(), Aim())
    found = counted(lambda: torch.autograd.backward(loss(batch)[0]))
    model.zero_grad()
    return found


def _each(seen: Kernels | None, updates: int) -> Kernels | None:
    if seen is None:
        return None
    launches = round(seen.launches / updates)
    return Kernels(seen.seconds / updates, launches, seen.longest, seen.longest_share)
