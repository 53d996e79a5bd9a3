"""The training loss, weighted by class as in jain2019."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

Objective = Callable[[Tensor, Tensor], Tensor]


def objective(labels: Int[Tensor, " n"], classes: int, weighted: bool) -> Objective:
    """Mean cross-entropy over a batch.

    Two classes: each positive counts N/N₊ − 1 times (jain2019). More classes: the usual
    N/(C·N_c), which for balanced data is 1.
    """
    weights = _class_weights(labels, classes) if weighted else torch.ones(classes)

    def binary(logits: Float[Tensor, "b 1"], label: Int[Tensor, " b"]) -> Tensor:
        each = weights.to(logits.device)[label]
        losses = F.binary_cross_entropy_with_logits(
            logits.squeeze(1), label.to(logits.dtype), reduction="none"
        )
        return (losses * each).mean()

    def several(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Tensor:
        each = weights.to(logits.device)[label]
        return (F.cross_entropy(logits, label, reduction="none") * each).mean()

    return binary if classes == 2 else several


def _class_weights(labels: Tensor, classes: int) -> Tensor:
    counts = torch.bincount(labels, minlength=classes).clamp_min(1).to(torch.float32)
    if classes == 2:
        return torch.stack([torch.ones(()), counts.sum() / counts[1] - 1])
    return counts.sum() / (classes * counts)
