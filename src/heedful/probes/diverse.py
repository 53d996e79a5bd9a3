"""Several adversaries that also differ from each other (jain2019, Eq. 2).

The objective Σ_i JSD(α_i, α̂) + 1/(k(k−1)) Σ_{i<j} JSD(α_i, α_j) is convex in each α_i, so
each is moved in turn to its exact best vertex until nothing improves. Every step is
exact; where it ends is a *local* optimum.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.probes.furthest import furthest

_ROUNDS = 20


def diverse(
    z: Float[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    low: Float[Tensor, " n"],
    high: Float[Tensor, " n"],
    attention: Float[Tensor, "n k"],
    count: int,
) -> Float[Tensor, "n m k"]:
    """`count` feasible attentions per row; the single furthest one is where they start."""
    pairs = 1 / (count * (count - 1)) if count > 1 else 0.0
    chosen = [furthest(z, mask, low, high, attention[:, None]).weights]
    while len(chosen) < count:
        chosen.append(_best(z, mask, low, high, attention, chosen, pairs))
    for _ in range(_ROUNDS):
        before = torch.stack(chosen)
        for i in range(count):
            others = chosen[:i] + chosen[i + 1 :]
            chosen[i] = _best(z, mask, low, high, attention, others, pairs)
        if torch.equal(before, torch.stack(chosen)):
            break
    return torch.stack(chosen, 1)


def _best(
    z: Tensor,
    mask: Tensor,
    low: Tensor,
    high: Tensor,
    attention: Tensor,
    others: list[Tensor],
    pairs: float,
) -> Tensor:
    references = torch.stack([attention, *others], 1)
    emphasis = torch.full((references.shape[1],), pairs, dtype=z.dtype, device=z.device)
    emphasis[0] = 1.0
    return furthest(z, mask, low, high, references, emphasis).weights
