"""Jensen-Shannon divergence between attention distributions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import LN2, Piece


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


PIECE = Piece(
    name="jsd",
    description="Jensen-Shannon divergence of two attention distributions (nats, at most ln 2)",
    make=jsd,
    version=1,
    paper="jain2019",
    higher_is_better=None,
    signed=False,
    formula="JSD(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m), m = (p + q) / 2",
    range=LN2,
    higher="the two attentions have less weight in common: ln 2 where no token has weight in both",
    cost="the number of tokens",
    limits=(
        "It knows nothing of words: weight that moves to a synonym counts like weight that "
        "moves to any other word."
    ),
)
