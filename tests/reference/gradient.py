"""Gradients at the embeddings, one text at a time, by autograd on the model's own parts."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def embedding_gradient(
    model: nn.Module, tokens: list[int], label: int, detached: bool
) -> tuple[Tensor, Tensor]:
    """∂ŷ/∂e and e of the real tokens, ŷ the probability of `label` (jain2019, §4.1).

    `detached` computes the attention apart, so that no gradient flows through it.
    """
    embedded = model.embedding(torch.tensor([tokens])).detach().requires_grad_()
    states = model.encoder(embedded, torch.tensor([len(tokens)])).states[0, 1:-1]
    scores = model.attention(states[None])[0]
    gated = not model.attention.normalised
    weights = 1 / (1 + torch.exp(-scores)) if gated else torch.softmax(scores, 0)
    if detached:
        weights = weights.detach()
    context = torch.zeros_like(states[0])
    for weight, state in zip(weights, states, strict=True):
        context = context + weight * state
    output = probability(model.decoder(context), label)
    (slope,) = torch.autograd.grad(output, embedded)
    return slope[0, 1:-1], embedded.detach()[0, 1:-1]


def probability(logits: Tensor, label: int) -> Tensor:
    if len(logits) > 1:
        return torch.exp(logits[label]) / torch.exp(logits).sum()
    p = 1 / (1 + torch.exp(-logits[0]))
    return p if label == 1 else 1 - p
