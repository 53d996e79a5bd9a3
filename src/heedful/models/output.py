"""From logits to probabilities, and the quantities one may want explained.

A binary model has one logit (jain2019's sigmoid); everything downstream sees two class
probabilities. They are float64: near 0 and 1 single precision ties what differs.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F


def class_logits(logits: Float[Tensor, "*n c"]) -> Float[Tensor, "*n k"]:
    """One logit per class, float64; a single logit stands against a zero."""
    logits = logits.double()
    if logits.shape[-1] > 1:
        return logits
    return torch.cat([torch.zeros_like(logits), logits], dim=-1)


def probabilities(logits: Float[Tensor, "*n c"]) -> Float[Tensor, "*n k"]:
    """Class probabilities, float64, at least two columns."""
    if logits.shape[-1] > 1:
        return torch.softmax(logits.double(), dim=-1)
    # not softmax([0, x]): the sigmoid keeps p and 1 - p exact far out on both sides
    logits = logits.double()
    return torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)], dim=-1)


def logit(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The class's own logit (for one sigmoid: signed towards the class)."""
    scores = class_logits(logits)
    if logits.shape[-1] == 1:
        return torch.where(label == 1, scores[:, 1], -scores[:, 1])
    return scores.gather(1, label[:, None]).squeeze(1)


def probability(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The probability of the class."""
    return probabilities(logits).gather(1, label[:, None]).squeeze(1)


def loss(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The cross-entropy of the class."""
    return F.cross_entropy(class_logits(logits), label, reduction="none")


TARGETS = {"logit": logit, "probability": probability, "loss": loss}
