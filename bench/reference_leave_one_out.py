"""jain2019, experiment 2: the model is run again without each token in turn."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.reference_forward import Kept, by_example
from heedful.models import OneSequence
from heedful.types import Batch, Text


def leave_one_out(model: OneSequence, kept: list[Kept]) -> dict[str, Tensor]:
    scores = [_leave_one_out(model, each.batch, each.p) for each in kept]
    return by_example([each.batch for each in kept], scores)


def _leave_one_out(model: OneSequence, batch: Batch, p: Tensor) -> Tensor:
    """One run per position for the texts that have it; texts are sorted, so nearly all do."""
    mask = batch.texts["a"].mask
    moved = torch.zeros(mask.shape, device=mask.device)
    with torch.no_grad():
        for position in range(1, int(batch.texts["a"].lengths.max()) - 1):
            rows = mask[:, position].nonzero().squeeze(1)
            logits = model(_without(batch, rows, position)).logits
            moved[rows, position] = (torch.sigmoid(logits[:, 0]) - p[rows]).abs()
    return moved


def _without(batch: Batch, rows: Tensor, position: int) -> Batch:
    text = batch.texts["a"]
    tokens = text.tokens[rows]
    tokens = torch.cat([tokens[:, :position], tokens[:, position + 1 :]], 1)
    lengths = text.lengths[rows] - 1
    place = torch.arange(tokens.shape[1], device=tokens.device)
    shorter = Text(tokens, lengths, (place > 0) & (place < lengths[:, None] - 1))
    return Batch(tuple(batch.ids[i] for i in rows.tolist()), {"a": shorter}, batch.labels[rows])
