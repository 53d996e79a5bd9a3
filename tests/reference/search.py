"""jain2019's adversarial objective (§4.2.2, Eq. 1 and 2) for one text, all by autograd.

The constraint becomes a penalty, as in the released code:
minimise Σ_i [−JSD(α_i, α̂) + λ·max(0, TVD_i − ε)] − 1/(k(k − 1)) Σ_{i<j} JSD(α_i, α_j).
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor


def objective(
    logits: Tensor, attention: Tensor, z: Tensor, bias: float, epsilon: float, penalty: float
) -> Tensor:
    """`logits[m, T]` are the candidates before their softmax; a single logit α·z + b follows."""
    candidates = [torch.softmax(row, 0) for row in logits]
    original = torch.sigmoid(attention @ z + bias)
    total = torch.zeros((), dtype=logits.dtype)
    for alpha in candidates:
        moved = (torch.sigmoid(alpha @ z + bias) - original).abs()
        total = total - jsd(alpha, attention) + penalty * torch.relu(moved - epsilon)
    for first, second in combinations(candidates, 2):
        total = total - jsd(first, second) / (len(candidates) * (len(candidates) - 1))
    return total


def trajectory(
    start: Tensor, attention: Tensor, z: Tensor, bias: float, epsilon: float, steps: int
) -> list[Tensor]:
    """The candidates' weights at every step of AMSGrad, lr 0.01, λ = 500."""
    logits = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=0.01, amsgrad=True)
    seen = [torch.softmax(logits.detach(), -1)]
    for _ in range(steps):
        optimizer.zero_grad()
        objective(logits, attention, z, bias, epsilon, 500.0).backward()
        optimizer.step()
        seen.append(torch.softmax(logits.detach(), -1))
    return seen


def jsd(p: Tensor, q: Tensor) -> Tensor:
    middle = (p + q) / 2
    return (p * (p / middle).log()).sum() / 2 + (q * (q / middle).log()).sum() / 2
