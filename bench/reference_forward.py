"""The papers' passes: batches of 32 of like length, single precision, states kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.corpora import Split
from heedful.models import OneSequence
from heedful.types import Batch, Keep

BATCH = 32


@dataclass(frozen=True)
class Kept:
    """What the experiments on attention go on from."""

    batch: Batch
    states: Tensor
    attention: Tensor
    p: Tensor


def forward(model: OneSequence, data: Split) -> list[Kept]:
    return [_forward(model, batch) for batch in batches(model, data)]


def batches(model: OneSequence, data: Split) -> Iterator[Batch]:
    """Where the model is."""
    device = next(model.parameters()).device
    return (batch.to(device) for _, batch in data.batches(BATCH))


def _forward(model: OneSequence, batch: Batch) -> Kept:
    with torch.no_grad():
        trace = model(batch, keep=Keep(states=True))
        p = torch.sigmoid(trace.logits[:, 0])
    return Kept(batch, trace.states["attention"], trace.weights["attention"][:, 0, 0], p)


def spread(kept: list[Kept], count: int) -> list[Kept]:
    """`count` batches from the middles of `count` equal parts of all batches."""
    count = min(count, len(kept))
    return [kept[int((i + 0.5) * len(kept) / count)] for i in range(count)]


def by_example(batches: Sequence[Batch], scores: Sequence[Tensor]) -> dict[str, Tensor]:
    """Scores of real tokens by example, whatever the batches were."""
    found = {}
    for batch, values in zip(batches, scores, strict=True):
        masks = batch.texts["a"].mask.cpu()
        for name, row, mask in zip(batch.ids, values.cpu(), masks, strict=True):
            found[name] = row[mask]
    return found
