"""The furthest attention with the same output: exact for linear binary decoders, else searched.

With one logit α·z + b, "the output moves by at most ε" is a band on α·z. The Jensen–Shannon
divergence from given distributions is convex in α, so its maximum over simplex ∩ band sits
on a vertex: one token inside the band, or two tokens mixed to lie on one of its edges. All
of them are tried. Of several that are equally far (the same word twice) the first is taken:
single tokens before pairs, then by position.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.metrics import tvd

_PAIRS_AT_ONCE = 1 << 18  # bounds the memory
_TIED = 1e-9  # divergences no further apart are equal


@dataclass(frozen=True)
class Furthest:
    """The best vertex of each row and its value; −inf where no attention is in the band."""

    value: Float[Tensor, " n"]
    weights: Float[Tensor, "n k"]


def band(
    p: Float[Tensor, " n"], bias: Float[Tensor, ""] | float, epsilon: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The interval of α·z on which |σ(α·z + b) − p| ≤ ε; infinite where p ± ε leaves (0, 1)."""
    low = torch.where(p - epsilon > 0, torch.logit((p - epsilon).clamp_min(1e-300)), -torch.inf)
    high = torch.where(
        p + epsilon < 1, -torch.logit((1 - p - epsilon).clamp_min(1e-300)), torch.inf
    )
    return low - bias, high - bias


def furthest_attention(
    z: Float[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    low: Float[Tensor, " n"],
    high: Float[Tensor, " n"],
    references: Float[Tensor, "n r k"],
    emphasis: Float[Tensor, " r"] | None = None,
) -> Furthest:
    """Maximise Σ_r emphasis_r · JSD(α, reference_r) over the attentions inside the band."""
    if emphasis is None:
        emphasis = torch.ones(references.shape[1], dtype=z.dtype, device=z.device)
    step = max(1, _PAIRS_AT_ONCE // z.shape[1] ** 2)
    parts = [
        _furthest(z[i], mask[i], low[i], high[i], references[i], emphasis)
        for i in torch.split(torch.arange(len(z), device=z.device), step)
    ]
    return Furthest(torch.cat([p.value for p in parts]), torch.cat([p.weights for p in parts]))


def _furthest(
    z: Tensor, mask: Tensor, low: Tensor, high: Tensor, references: Tensor, emphasis: Tensor
) -> Furthest:
    inside = mask & (z >= low[:, None]) & (z <= high[:, None])
    one = torch.where(inside, _gain(torch.ones_like(z), references, emphasis), -torch.inf)
    value = one.amax(-1)
    token = _first(one, value)
    weights = torch.zeros_like(z).scatter(1, token[:, None], 1.0)
    for edge in (low, high):
        if not bool(edge.isfinite().any()):
            continue
        pair, i, j, share = _best_pair(z, mask, edge, references, emphasis)
        better = pair > value + _TIED
        value = torch.where(better, pair, value)
        mixed = torch.zeros_like(z).scatter(1, i[:, None], 1 - share[:, None])
        mixed = mixed.scatter(1, j[:, None], share[:, None])
        weights = torch.where(better[:, None], mixed, weights)
    base = 0.5 * math.log(2) * (references.sum(-1) * emphasis).sum(-1)
    return Furthest(value + base, weights)


def _best_pair(
    z: Tensor, mask: Tensor, edge: Tensor, references: Tensor, emphasis: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best mixture of a token below the edge (i) and one above it (j)."""
    n, k = z.shape
    below = mask & (z < edge[:, None])
    above = mask & (z > edge[:, None])
    apart = below[:, :, None] & above[:, None, :]
    gap = torch.where(apart, z[:, None, :] - z[:, :, None], 1.0)
    share = torch.where(apart, (edge[:, None] - z)[:, :, None] / gap, 0.5).clamp(0, 1)
    lower = _gain(1 - share.transpose(1, 2), references[:, :, None], emphasis).transpose(1, 2)
    upper = _gain(share, references[:, :, None], emphasis)
    total = torch.where(apart, lower + upper, -torch.inf).reshape(n, k * k)
    value = total.amax(-1)
    flat = _first(total, value)
    i, j = flat // k, flat % k
    return value, i, j, share.reshape(n, k * k).gather(1, flat[:, None]).squeeze(1)


def _first(values: Tensor, largest: Tensor) -> Tensor:
    """The first place of each row's largest value, or of one that ties with it."""
    return (values >= largest[:, None] - _TIED).to(torch.uint8).argmax(-1)


def _gain(a: Tensor, references: Tensor, emphasis: Tensor) -> Tensor:
    """What weight `a` on a token adds to the divergence beyond weight zero.

    JSD = ½ Σ_t [α ln α + q ln q − (α + q) ln((α + q)/2)]; a token with α = 0 gives ½ q ln 2.
    """
    gain = 0.5 * emphasis.sum() * torch.xlogy(a, a)
    for q, weight in zip(references.unbind(1), emphasis, strict=True):
        known = 0.5 * (torch.xlogy(q, q) - q * math.log(2))
        gain = gain + weight * (known - 0.5 * torch.xlogy(a + q, 0.5 * (a + q)))
    return gain


# Several adversaries that also differ from each other (jain2019, Eq. 2).
#
# The objective Σ_i JSD(α_i, α̂) + 1/(k(k−1)) Σ_{i<j} JSD(α_i, α_j) is convex in each α_i, so
# each is moved in turn to its exact best vertex until nothing improves. Every step is
# exact; where it ends is a *local* optimum.


_ROUNDS = 20


def furthest_same_output(
    z: Float[Tensor, "n k"],
    bias: Float[Tensor, ""],
    attention: Float[Tensor, "n k"],
    mask: Bool[Tensor, "n k"],
    epsilon: float,
) -> tuple[Furthest, Float[Tensor, " n"], tuple[Tensor, Tensor]]:
    """The furthest attention that moves the output by at most ε; the divergence of the furthest
    one whatever the output; and the band of α·z."""
    low, high = band(torch.sigmoid((attention * z).sum(-1) + bias), bias, epsilon)
    free = torch.full_like(low, torch.inf)
    best = furthest_attention(z, mask, low, high, attention[:, None])
    return best, furthest_attention(z, mask, -free, free, attention[:, None]).value, (low, high)


def share_of(value: Tensor, most: Tensor) -> Tensor:
    """Undefined where nothing can be away."""
    return torch.where(most > 0, value / most, torch.nan)


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
    chosen = [furthest_attention(z, mask, low, high, attention[:, None]).weights]
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
    return furthest_attention(z, mask, low, high, references, emphasis).weights


# Adversarial attention by gradient search (jain2019, §4.2.2): found, so a lower bound.
#
# Minimised is Σ_i [−JSD(α_i, α̂) + λ·max(0, TVD_i − ε)] − 1/(k(k−1)) Σ_{i<j} JSD(α_i, α_j). The
# best feasible candidate of *all* steps is kept, not the last one. The divergence's own gradient is
# written out (one logarithm a step instead of a graph); only the model's part goes through
# autograd, so any site can be searched.


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
