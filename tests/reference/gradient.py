"""Gradients at the embeddings, one text at a time, by autograd on the model's own parts."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.models import SPARSEMAX, Weighting
from reference.sparse import supported


def embedding_gradient(
    model: nn.Module, tokens: list[int], label: int, detached: bool
) -> tuple[Tensor, Tensor]:
    """∂ŷ/∂e and e of the real tokens, ŷ the probability of `label` (jain2019, §4.1).

    `detached` computes the attention apart, so that no gradient flows through it.
    """
    embedded = model.embedding(torch.tensor([tokens])).detach().requires_grad_()
    states = model.encoder(embedded, torch.tensor([len(tokens)])).states[0, 1:-1]
    scores = model.attention(states[None])[0]
    weights = weights_of(model.attention.weighting, scores)
    if detached:
        weights = weights.detach()
    context = torch.zeros_like(states[0])
    for weight, state in zip(weights, states, strict=True):
        context = context + weight * state
    output = probability(model.decoder(context), label)
    (slope,) = torch.autograd.grad(output, embedded)
    return slope[0, 1:-1], embedded.detach()[0, 1:-1]


def weights_of(weighting: Weighting, scores: Tensor) -> Tensor:
    """With slopes: a sparsemax is a straight line as long as the same tokens stay."""
    if weighting is SPARSEMAX:
        kept = len(supported(scores.tolist()))
        threshold = (scores.topk(kept).values.sum() - 1) / kept
        return torch.relu(scores - threshold)
    return torch.softmax(scores, 0) if weighting.normalised else 1 / (1 + torch.exp(-scores))


def probability(logits: Tensor, label: int) -> Tensor:
    if len(logits) > 1:
        return torch.exp(logits[label]) / torch.exp(logits).sum()
    p = 1 / (1 + torch.exp(-logits[0]))
    return p if label == 1 else 1 - p
