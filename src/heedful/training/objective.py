"""The training loss: of classes, weighted as in jain2019, or of the tokens of a target."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.types import Batch, Trace

Objective = Callable[[Trace, Batch], Tensor]


def class_loss(labels: Int[Tensor, " n"], classes: int, weighted: bool) -> Objective:
    """Mean cross-entropy over a batch.

    Two classes: each positive counts N/N₊ − 1 times (jain2019). More classes: the usual
    N/(C·N_c), which for balanced data is 1.
    """
    weights = _class_weights(labels, classes) if weighted else torch.ones(classes)

    def binary(trace: Trace, batch: Batch) -> Tensor:
        logits, label = trace.logits, batch.labels
        losses = F.binary_cross_entropy_with_logits(
            logits.squeeze(1), label.to(logits.dtype), reduction="none"
        )
        return (losses * weights.to(logits.device)[label]).mean()

    def several(trace: Trace, batch: Batch) -> Tensor:
        each = weights.to(trace.logits.device)[batch.labels]
        return (F.cross_entropy(trace.logits, batch.labels, reduction="none") * each).mean()

    return binary if classes == 2 else several


def target_loss(smoothing: float = 0.0) -> Objective:
    """Mean cross-entropy over the tokens of a batch's targets, the end among them."""

    def loss(trace: Trace, batch: Batch) -> Tensor:
        logits, gold, there = target_steps(trace, batch)
        return F.cross_entropy(logits[there], gold[there], label_smoothing=smoothing)

    return loss


def target_steps(
    trace: Trace, batch: Batch
) -> tuple[Float[Tensor, "b s c"], Int[Tensor, "b s"], Bool[Tensor, "b s"]]:
    """After each token of the target: the logits, the token that follows, and whether one does."""
    assert trace.step_logits is not None
    text = batch.texts["b"]
    place = torch.arange(1, text.tokens.shape[1], device=text.tokens.device)
    return trace.step_logits[:, :-1], text.tokens[:, 1:], place < text.lengths[:, None]


def _class_weights(labels: Tensor, classes: int) -> Tensor:
    counts = torch.bincount(labels, minlength=classes).clamp_min(1).to(torch.float32)
    if classes == 2:
        return torch.stack([torch.ones(()), counts.sum() / counts[1] - 1])
    return counts.sum() / (classes * counts)
