"""Class probabilities of a whole split."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from heedful.corpora import Split
from heedful.models import probabilities
from heedful.types import Model


def predict(model: Model, split: Split, device: str, batch_size: int = 256) -> np.ndarray:
    """Probabilities in the split's own order, `[n, classes]`."""
    parts: list[Tensor] = []
    order: list[np.ndarray] = []
    with torch.no_grad():
        for index, batch in split.batches(batch_size):
            parts.append(probabilities(model(batch.to(device)).logits).cpu())
            order.append(index)
    out: np.ndarray = torch.cat(parts).numpy()
    return out[np.argsort(np.concatenate(order))]
