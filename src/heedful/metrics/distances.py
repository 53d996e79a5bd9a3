"""Distances of outputs or attentions (TVD, JSD, KL), entropy of attention, conicity of states."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from heedful.entries import LN2, NOT_NEGATIVE, Entries, Measure, Metric, share

ENTRIES = Entries(Metric)


@ENTRIES.entry(
    share("total variation distance of two output distributions"),
    paper="jain2019",
    formula="TVD(p, q) = ½ Σ_c |p_c − q_c|",
    higher="the two outputs differ more: 0 the same, 1 nothing in common",
    cost="the number of classes",
    limits=(
        "It says how far an output moved: not towards which class, nor whether the decision "
        "changed."
    ),
)
def tvd(p: Float[Tensor, "*#b c"], q: Float[Tensor, "*#b c"]) -> Float[Tensor, "*#b"]:
    """½ Σ_c |p_c − q_c| (jain2019, §4.1), over whole distributions.

    A binary output is given as both classes, (1 − ŷ, ŷ), so that TVD = |Δŷ|. Halving the
    difference of a lone sigmoid instead is a mistake of wiegreffe2019's released code.
    """
    return (p - q).abs().sum(-1) / 2


# Jensen-Shannon divergence between attention distributions.


@ENTRIES.entry(
    Measure(
        "Jensen-Shannon divergence of two attention distributions (nats, at most ln 2)", range=LN2
    ),
    paper="jain2019",
    formula="JSD(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m), m = (p + q) / 2",
    higher="the two attentions have less weight in common: ln 2 where no token has weight in both",
    cost="the number of tokens",
    limits=(
        "It knows nothing of words: weight that moves to a synonym counts like weight that "
        "moves to any other word."
    ),
)
def jsd(p: Float[Tensor, "*#b k"], q: Float[Tensor, "*#b k"]) -> Float[Tensor, "*#b"]:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q)/2 (jain2019, §4.2.2); natural
    logarithm, so at most ln 2.

    Masked positions hold zeros in both and contribute exactly 0. At a zero the true slope is
    −∞; the gradient returned there is finite, so a search may start from sparse weights.
    """
    m = (p + q) / 2
    total = _x_log_ratio(p, m) + _x_log_ratio(q, m)
    # Rounding may leave −1e-17 for nearly equal distributions; a divergence is never negative.
    return (total.sum(-1) / 2).clamp(min=0)


def _x_log_ratio(x: Tensor, m: Tensor) -> Tensor:
    """x·log(x/m), 0 where x = 0. Zeros are replaced before the logarithm, not after: the
    gradient of an unused −∞ would still be NaN. (m is 0 under a subnormal x; and the slope of
    a quotient overflows for small m, so the logarithms are subtracted.)"""
    live = (x > 0) & (m > 0)
    one = torch.ones((), dtype=m.dtype, device=m.device)
    log_ratio = torch.where(live, x, one).log() - torch.where(live, m, one).log()
    return torch.where(live, x, torch.zeros_like(one)) * log_ratio


# Kullback-Leibler divergence over unmasked positions.


@ENTRIES.entry(
    Measure(
        "Kullback-Leibler divergence of the first distribution from the second (nats)",
        range=NOT_NEGATIVE,
    ),
    paper="wiegreffe2019",
    formula="KL(p ‖ q) = Σ_t p_t ln(p_t / q_t)",
    higher="the first has weight where the second has little: infinite where it has none",
    cost="the number of tokens",
    limits="It is not symmetric and has no upper bound, so a few texts can decide a mean.",
)
def kl(
    p: Float[Tensor, "*#b k"], q: Float[Tensor, "*#b k"], mask: Bool[Tensor, "*#b k"]
) -> Float[Tensor, "*#b"]:
    """Σ_t p_t log(p_t / q_t) over the mask, in nats; +∞ where q_t = 0 < p_t.

    Masked *before* the logarithm: log 0 at padding gave NaN in wiegreffe2019's code. Where the
    value is infinite the gradient is 0, so one such row does not spoil a batch.
    """
    live = mask & (p > 0)
    finite = live & (q > 0)
    one = torch.ones((), dtype=p.dtype, device=p.device)
    p_safe, q_safe = torch.where(finite, p, one), torch.where(finite, q, one)
    terms = p_safe * (p_safe.log() - q_safe.log())
    total = torch.where(finite, terms, torch.zeros_like(one)).sum(-1)
    infinite = (live & ~finite).any(-1)
    return torch.where(infinite, torch.full_like(one, torch.inf), total)


# Shannon entropy of attention.


@ENTRIES.entry(
    Measure("entropy of an attention distribution (nats)", range=NOT_NEGATIVE),
    citation="Shannon 1948, A Mathematical Theory of Communication",
    formula="H(p) = −Σ_t p_t ln p_t",
    higher="attention is spread over more tokens: ln n where n tokens share it evenly",
    cost="the number of tokens",
    limits=(
        "It grows with the length of a text: compare it with ln n. Concentrated attention need "
        "not be right."
    ),
)
def entropy(p: Float[Tensor, "*b k"]) -> Float[Tensor, "*b"]:
    """−Σ_t p_t log p_t in nats; zeros contribute exactly 0, and their gradient is 0."""
    live = p > 0
    safe = torch.where(live, p, torch.ones_like(p))
    # The sum of terms −p log p ≥ 0: negating each keeps 0 from becoming −0.
    return (safe * -safe.log()).sum(-1)


# How narrow the cone is that states lie in.


def conicity(states: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, " b"]:
    """The mean over real tokens of |cos(h_t, mean h)|: 1 where all point one way."""
    there = mask.to(states.dtype)
    count = there.sum(-1).clamp_min(1)
    mean = (states * there[..., None]).sum(1) / count[:, None]
    cosine = F.cosine_similarity(states, mean[:, None], dim=-1).abs()
    return (cosine * there).sum(-1) / count
