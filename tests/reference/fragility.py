"""The top-k attack with exact second derivatives, one text at a time (Ghorbani et al. 2019, §3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.models import probabilities


def scores_at(model: Any, batch: Any, name: str, x: Tensor, label: int) -> tuple[Tensor, int]:
    """Magnitudes of the words between start and end, and the class; with a graph."""
    trace = model(batch, embeddings={"a": x})
    p = probabilities(trace.logits)[0]
    if name == "attention":
        return trace.weights["attention"][0, 0, 0, 1:-1], int(p.argmax())
    (slope,) = torch.autograd.grad(p[label], x, create_graph=True)
    slope, inside = slope[0, 1:-1], x[0, 1:-1]
    if name == "gradient":
        return (slope**2).sum(-1).sqrt(), int(p.argmax())
    return (slope * inside).sum(-1).abs(), int(p.argmax())


def attack(
    model: Any, batch: Any, name: str, radius: float, steps: int, k: int
) -> tuple[list[float], list[float]]:
    """Scores before and after: of the steps that keep the prediction, those with the least share on
    the words that were on top."""
    own = model.embed(batch)["a"]
    label = int(probabilities(model(batch).logits)[0].argmax())
    words = range(own.shape[1] - 2)
    reach = radius * sum(float(own[0, 1 + t].norm()) for t in words) / len(words)

    def look(x: Tensor) -> tuple[Tensor, int, Tensor]:
        x = x.detach().requires_grad_()
        scores, decision = scores_at(model, batch, name, x, label)
        share = sum(scores[t] for t in top) / scores.sum() if top else scores.sum()
        (slope,) = torch.autograd.grad(share, x)
        return scores.detach(), decision, slope

    top: list[int] = []
    before = look(own)[0].tolist()
    top = sorted(words, key=lambda t: -before[t])[:k]
    delta = torch.zeros_like(own)

    def mass(scores: list[float]) -> float:
        return sum(scores[t] for t in top) / sum(scores)

    best = before
    for _ in range(steps):
        slope = look(own + delta)[2]
        for t in words:
            moved = delta[0, 1 + t] - 2.5 / steps * reach * slope[0, 1 + t] / slope[0, 1 + t].norm()
            if float(moved.norm()) > reach:
                moved = moved * reach / moved.norm()
            delta[0, 1 + t] = moved
        scores, decision, _ = look(own + delta)
        if decision == label and mass(scores.tolist()) < mass(best):
            best = scores.tolist()
    return before, best
