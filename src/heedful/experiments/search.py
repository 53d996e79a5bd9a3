"""Adversarial attention by gradient search (jain2019, §4.2.2): found, so a lower bound.

Minimised is Σ_i [−JSD(α_i, α̂) + λ·max(0, TVD_i − ε)] − 1/(k(k−1)) Σ_{i<j} JSD(α_i, α_j). The best
feasible candidate of *all* steps is kept, not the last one.

The divergence's own gradient is written out (one logarithm a step instead of a graph);
only the model's part goes through autograd, so any site can be searched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.metrics import tvd

Outputs = Callable[[Tensor], Tensor]
"""`weights[n, m, k] -> class probabilities[n, m, c]`, differentiable."""


@dataclass(frozen=True)
class SearchParams:
    """jain2019's settings; `entropy_within` also keeps |H(α) − H(α̂)| ≤ that share of H(α̂)."""

    epsilon: float = 0.01
    candidates: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    penalty: float = 500.0
    entropy_within: float | None = None


@dataclass(frozen=True)
class Found:
    """The furthest feasible candidate of each row; α̂ itself (0) where none was found."""

    jsd: Float[Tensor, " n"]
    weights: Float[Tensor, "n k"]
    steps: int


def search(
    outputs: Outputs,
    attention: Float[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    start: Float[Tensor, "n m k"],
    params: SearchParams,
    enough: Float[Tensor, " n"] | None = None,
) -> Found:
    """`params.steps` steps of AMSGrad from the logits `start`; ends once all rows are `enough`."""
    logits = start.masked_fill(~mask[:, None], _NEVER).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=params.learning_rate, amsgrad=True, fused=True)
    original = outputs(attention[:, None]).detach()
    q = _Reference(attention[:, None])
    best = Found(attention.new_zeros(len(mask)), attention.clone(), 0)
    for step in range(params.steps + 1):
        log_weights = torch.log_softmax(logits.detach(), -1)
        weights = log_weights.exp()
        log_weights = log_weights.clamp_min(_NEVER)
        moved, slope = _moved(outputs, weights, original)
        apart, apart_slope = q.divergence(weights, log_weights)
        excess = moved - params.epsilon
        loss_slope = params.penalty * (excess > 0)[..., None] * slope - apart_slope
        if params.entropy_within is not None:
            off, off_slope = q.entropy_off(weights, log_weights, params.entropy_within)
            loss_slope += params.penalty * (off > 0)[..., None] * off_slope
            excess = torch.maximum(excess, off)
        best = _keep_best(best, weights, torch.where(excess <= 0, apart, -1.0), step)
        if step == params.steps or (enough is not None and bool((best.jsd >= enough).all())):
            break
        loss_slope -= _spread_slope(weights, log_weights)
        logits.grad = weights * (loss_slope - (weights * loss_slope).sum(-1, keepdim=True))
        optimizer.step()
    return best


_NEVER = -1e4  # a logit whose softmax is exactly zero, but finite


class _Reference:
    """The attention searched against: distances from it, with their slopes."""

    def __init__(self, q: Float[Tensor, "n 1 k"]) -> None:
        self.q = q
        self.entropy = -torch.xlogy(q, q).sum(-1)
        self.half_negentropy = -0.5 * self.entropy

    def divergence(self, w: Tensor, log_w: Tensor) -> tuple[Tensor, Tensor]:
        """JSD and ∂JSD/∂w = ½ (ln w − ln m), m the midpoint."""
        middle = (0.5 * (w + self.q)).clamp_min(1e-300)
        log_middle = middle.log()
        slope = 0.5 * (log_w - log_middle)
        value = self.half_negentropy + (w * slope).sum(-1) - 0.5 * (self.q * log_middle).sum(-1)
        return value, slope

    def entropy_off(self, w: Tensor, log_w: Tensor, within: float) -> tuple[Tensor, Tensor]:
        """How far the entropy is outside its range, and the slope of that."""
        gap = -(w * log_w).sum(-1) - self.entropy
        return gap.abs() - within * self.entropy, -gap.sign()[..., None] * (log_w + 1)


def _moved(outputs: Outputs, weights: Tensor, original: Tensor) -> tuple[Tensor, Tensor]:
    """How far the output moved, and its slope by the weights."""
    with torch.enable_grad():
        weights = weights.requires_grad_()
        moved = tvd(outputs(weights), original)
        (slope,) = torch.autograd.grad(moved.sum(), weights)
    weights.requires_grad_(False)
    return moved.detach(), slope


def _keep_best(best: Found, weights: Tensor, apart: Tensor, step: int) -> Found:
    value, index = apart.max(1)
    better = value > best.jsd
    chosen = weights.gather(1, index[:, None, None].expand(-1, 1, weights.shape[2])).squeeze(1)
    return Found(
        torch.where(better, value, best.jsd),
        torch.where(better[:, None], chosen, best.weights),
        step,
    )


def _spread_slope(w: Tensor, log_w: Tensor) -> Tensor | float:
    """The slope of 1/(k(k−1)) Σ_{i<j} JSD(α_i, α_j) (jain2019, Eq. 2)."""
    m = w.shape[1]
    if m < 2:
        return 0.0
    middle = (0.5 * (w[:, :, None] + w[:, None])).clamp_min(1e-300)
    slope: Tensor = 0.5 * (log_w[:, :, None] - middle.log()).sum(2) / (m * (m - 1))
    return slope


def worth(apart: Tensor, moved: Tensor, epsilon: float) -> Tensor:
    """Of attentions to start from: first those that keep the output, the furthest before others;
    then those that move it least."""
    return torch.where(moved <= epsilon, 1 + apart, -moved)
