"""How fast a device trains models by Heedful's own loop, and runs jain2019's battery."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from bench.gpu_rates import Kernels, counted, kernels, rates, timed
from bench.made_up_models import Made, Shape, made
from heedful.attributions import leave_one_out
from heedful.experiments import Evidence, adversarial, correlation, permutation
from heedful.models import Family, OneSequence, Readout, build
from heedful.specs import ModelSpec, TrainSpec
from heedful.training import Objective, loss_of, train

BATTERY_TEXTS = {"SST": (19, 1725), "IMDb": (190, 128)}  # tokens, texts
BATTERY_QUICK = {"SST": (6, 6), "IMDb": (9, 3)}
BATTERY_MODELS = {"BiLSTM 2×128": "bilstm", "CNN": "cnn", "average": "average"}
NUMBER = 4  # bytes
EXACT = partial(adversarial, entropy_candidates=0)
BATTERY = (correlation, permutation, EXACT)


def battery(card: Mapping[str, Any], device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """All parts of the BiLSTM's; of the other two the whole."""
    for corpus, (length, texts) in (BATTERY_QUICK if quick else BATTERY_TEXTS).items():
        data = made(Shape("single", length, vocabulary=2000), {"test": texts})
        for name, encoder in BATTERY_MODELS.items():
            model = build(ModelSpec(encoder), data.vectors, 2, 0).to(device).eval()
            evidence = Evidence({"base": model}, data.split("test"), 0, device)
            for part in _parts(evidence) if encoder == "bilstm" else ("battery",):
                row = {"model": name, "corpus": corpus, "texts": texts, "part": part}
                yield {**row, **_measured(part, evidence, card)}


def _measured(part: str, evidence: Evidence, card: Mapping[str, Any]) -> dict[str, Any]:
    work, device = _parts(evidence)[part], evidence.device
    seconds = timed(work, device, 2)
    least = deletion_bytes(evidence) if part == "leave_one_out" else 0
    found = rates(card, seconds, counted(work), least, kernels(work, device))
    return {"seconds": seconds, "texts_per_second": len(evidence.data) / seconds, **found}


def _parts(evidence: Evidence) -> dict[str, Callable[[], Any]]:
    """A part is given the passes, which all probes share; the battery makes its own."""

    def fresh() -> Evidence:
        return Evidence(evidence.models, evidence.data, 0, evidence.device)

    def deleted() -> None:
        for forward in evidence.passes(""):
            leave_one_out(forward.model, forward.batch)

    list(evidence.passes(""))
    return {
        "passes": lambda: list(fresh().passes("")),
        "leave_one_out": deleted,
        "correlation": lambda: correlation(evidence),
        "permutation": lambda: permutation(evidence),
        "adversarial (exact)": lambda: EXACT(evidence),
        "battery": lambda: _all(fresh()),
    }


def _all(evidence: Evidence) -> None:
    for probe in BATTERY:
        probe(evidence)


@torch.no_grad()
def deletion_bytes(evidence: Evidence) -> int:
    """The least that walking on after every deletion moves: of each step the projected input
    and what the other direction left are read, state and cell read and written, the readout
    written. Steps are those that the walks take."""
    model = evidence.models["base"]
    if not isinstance(model, OneSequence):
        return 0
    hidden = model.encoder.size // 2
    weight = torch.cat([model.attention.linear()[0], model.decoder.weight])
    readout = Readout(weight, weight.new_zeros(len(weight)))
    steps = 0
    for _, batch in evidence.batches(evidence.data):
        text = batch.texts["a"]
        encoding = model.encoder(model.embedding(text.tokens), text.lengths)
        deletions = model.encoder.deletions(encoding, text.lengths, readout)
        every = text.mask.nonzero()
        for some in every.split(MOST):
            pieces = deletions.changed(*some.t())
            steps += sum(int((piece.index >= 0).sum()) for piece in pieces)
    return steps * NUMBER * (4 * hidden + 4 * hidden + 2 * len(weight))


MOST = 1024  # deletions at once


# How fast models are trained, by Heedful's own loop: texts, updates and operations a second.


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
    loss = loss_of(model.train(), data, TrainSpec(), Objective())
    found = counted(lambda: torch.autograd.backward(loss(batch)[0]))
    model.zero_grad()
    return found


def _each(seen: Kernels | None, updates: int) -> Kernels | None:
    if seen is None:
        return None
    launches = round(seen.launches / updates)
    return Kernels(seen.seconds / updates, launches, seen.longest, seen.longest_share)
