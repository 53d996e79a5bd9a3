"""Leave one out by leaving one out: delete the token, run the model again (jain2019, §4.1)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from tiny import real_positions, without


def delete_each(model: Any, batch: Any) -> Tensor:
    """Logits `[b, t, c]` without each real token, one run of the model for each; else NaN.

    A text that loses its only token keeps start and end, to which nothing attends.
    """
    text = batch.texts["a"]
    classes = model.decoder.out_features
    out = torch.full((*text.tokens.shape, classes), math.nan, dtype=torch.float64)
    for example, position in real_positions(batch):
        out[example, position] = model(without(batch, example, position)).logits[0].double()
    return out
