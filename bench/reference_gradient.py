"""jain2019, experiment 1: |Σ_d ∂ŷ/∂e · e| with attention detached."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.reference_forward import batches, by_example
from heedful.corpora import Split
from heedful.models import OneSequence
from heedful.types import Batch


def gradient(model: OneSequence, data: Split) -> dict[str, Tensor]:
    every = list(batches(model, data))
    return by_example(every, [_gradient(model, batch) for batch in every])


def _gradient(model: OneSequence, batch: Batch) -> Tensor:
    text = batch.texts["a"]
    embedded = model.embedding(text.tokens).detach().requires_grad_()
    states = model.encoder(embedded, text.lengths).states
    scores = model.attention(states).masked_fill(~text.mask, float("-inf"))
    attention = torch.softmax(scores, -1).detach()
    p = torch.sigmoid(model.decoder(torch.einsum("bt,btd->bd", attention, states)))
    (slope,) = torch.autograd.grad(p.sum(), embedded)
    return (slope * embedded.detach()).sum(-1).abs()
