"""Integrated gradients of one text as the paper writes it: a sum over evenly spaced points."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.types import Batch


def riemann(
    model: Any, batch: Batch, label: Tensor, target: Any, start: Tensor, steps: int
) -> Tensor:
    """Midpoints of `steps` equal parts, one pass for each; scores `[t]` of a batch of one."""
    end = model.embed(batch)["a"]
    total = torch.zeros_like(end)
    for k in range(steps):
        x = (start + (k + 0.5) / steps * (end - start)).requires_grad_()
        with torch.enable_grad():
            value = target(model(batch, embeddings={"a": x}).logits, label)[0]
            total += torch.autograd.grad(value, x)[0]
    return ((end - start) * total / steps).sum(-1)[0]
