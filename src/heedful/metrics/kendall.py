"""Kendall's τ-b for many ragged rows at once, equal to `scipy.stats.kendalltau`."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from heedful.catalogue import SIGNED, Piece
from heedful.metrics.kendall_counts import pair_counts
from heedful.metrics.kendall_p import p_value


@dataclass(frozen=True)
class KendallResult:
    """One number per row. `tau` and `p_value` are NaN where undefined: fewer than two
    positions, a constant side, or a NaN score. Callers count those and say so. `ties_x` and
    `ties_y` are the share of pairs tied on that side: they cap the τ a row can reach."""

    tau: Float[Tensor, " n"]
    p_value: Float[Tensor, " n"]
    ties_x: Float[Tensor, " n"]
    ties_y: Float[Tensor, " n"]
    n: Int[Tensor, " n"]


def kendall_tau_b(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> KendallResult:
    """τ-b between `x` and `y` over each row's unmasked positions (jain2019, §4.1).

    Values are compared in the dtype given; results are float64. The p-value is two-sided and
    SciPy's `auto`: exact without ties for n ≤ 33 or at most one inversion, else normal.
    """
    step = max(1, _CHUNK // max(1, x.shape[1]))
    parts = [
        _tau_b(x[i : i + step].detach(), y[i : i + step].detach(), mask[i : i + step])
        for i in range(0, max(1, x.shape[0]), step)
    ]
    return KendallResult(*(torch.cat(column) for column in zip(*parts, strict=True)))


_CHUNK = 1 << 20  # elements at a time: a handful of 8 MB temporaries, whatever the corpus


def _tau_b(x: Tensor, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    counts = pair_counts(x, y, mask)
    free_x = (counts.total - counts.x.pairs).to(torch.float64)
    free_y = (counts.total - counts.y.pairs).to(torch.float64)
    tau = counts.concordant_minus_discordant / free_x.sqrt() / free_y.sqrt()
    numbers = ~((x.isnan() | y.isnan()) & mask).any(-1)
    defined = numbers & (free_x > 0) & (free_y > 0)
    return (
        torch.where(defined, tau.clamp(-1.0, 1.0), torch.nan),
        torch.where(defined, p_value(counts), torch.nan),
        torch.where(numbers, _share(counts.x.pairs, counts.total), torch.nan),
        torch.where(numbers, _share(counts.y.pairs, counts.total), torch.nan),
        counts.n,
    )


def _share(pairs: Tensor, total: Tensor) -> Tensor:
    return pairs.to(torch.float64) / total  # 0/0 = NaN: a single token has no pairs


PIECE = Piece(
    name="kendall",
    description="Kendall's τ-b between two scores of the same tokens",
    make=kendall_tau_b,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=True,
    formula=(
        "τ_b = (C − D) / √((N − T_x)(N − T_y)): of N pairs C are in the same order, D in the "
        "opposite one, T_x and T_y tied in x and in y"
    ),
    range=SIGNED,
    higher="the two orders agree more: 0 unrelated, −1 reversed",
    cost="k log² k for a text of k tokens; no table of pairs is made",
    limits=(
        "All pairs count alike, so on long texts the many near-equal small weights decide "
        "(`top_k` leaves them out). It is undefined where one side is constant. Two orders can "
        "agree and both be wrong."
    ),
)
