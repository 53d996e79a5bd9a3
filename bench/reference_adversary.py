"""jain2019, experiment 5: K candidates, AMSGrad, a penalty on outputs that move by more than ε.

Minimised: Σ_i [−JSD(α_i, α̂) + λ·max(0, TVD_i − ε)] − mean pairwise JSD, as the authors coded it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bench.reference_forward import Kept
from heedful.models import OneSequence

CANDIDATES, RATE, PENALTY, EPSILON = 5, 0.01, 500.0, 0.01


def adversary(model: OneSequence, kept: list[Kept], steps: int) -> dict[str, float]:
    """ε-max JSD by example: of the last candidates, the furthest that moves the output by ≤ ε."""
    torch.manual_seed(0)
    found: dict[str, float] = {}
    for each in kept:
        found |= dict(zip(each.batch.ids, _search(model, each, steps).tolist(), strict=True))
    return found


def _search(model: OneSequence, each: Kept, steps: int) -> Tensor:
    mask = each.batch.texts["a"].mask
    attention = each.attention[:, None]
    start = 3 * torch.randn(len(mask), CANDIDATES, mask.shape[1], device=mask.device)
    logits = start.masked_fill(~mask[:, None], -1e4).requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=RATE, amsgrad=True)
    upper = torch.triu_indices(CANDIDATES, CANDIDATES, 1, device=mask.device)
    for _ in range(steps):
        weights = torch.softmax(logits, -1)
        moved = _moved(model, each, weights)
        apart = _jsd(weights, attention)
        pairs = _jsd(weights[:, upper[0]], weights[:, upper[1]]).mean(-1)
        penalty = PENALTY * (moved - EPSILON).clamp_min(0)
        loss = ((penalty - apart).sum(-1) - pairs).sum()
        optimizer.zero_grad()
        (logits.grad,) = torch.autograd.grad(loss, logits)
        optimizer.step()
    with torch.no_grad():
        weights = torch.softmax(logits, -1)
        feasible = _moved(model, each, weights) <= EPSILON
        return torch.where(feasible, _jsd(weights, attention), 0.0).amax(-1)


def _moved(model: OneSequence, each: Kept, weights: Tensor) -> Tensor:
    context = torch.bmm(weights, each.states)
    return (torch.sigmoid(model.decoder(context)[..., 0]) - each.p[:, None]).abs()


def _jsd(p: Tensor, q: Tensor) -> Tensor:
    middle = ((p + q) / 2).clamp_min(1e-30).log()
    p_log, q_log = p.clamp_min(1e-30).log(), q.clamp_min(1e-30).log()
    return 0.5 * (p * (p_log - middle) + q * (q_log - middle)).sum(-1)
