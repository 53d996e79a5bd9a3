"""Concordant, discordant and tied pairs, without looking at each pair.

Knight (1966): sort by x, then count the exchanges a merge sort of y makes. All rows are
merged together, O(k log² k) for each and no k×k temporary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor


@dataclass(frozen=True)
class Ties:
    """Sums over groups of t tied values: Σ t(t−1)/2 and Σ t(t−1)(t−2)."""

    pairs: Int[Tensor, " n"]
    triples: Int[Tensor, " n"]


@dataclass(frozen=True)
class PairCounts:
    n: Int[Tensor, " n"]
    total: Int[Tensor, " n"]
    discordant: Int[Tensor, " n"]
    x: Ties
    y: Ties
    joint: Ties

    @property
    def concordant_minus_discordant(self) -> Int[Tensor, " n"]:
        untied = self.total - self.x.pairs - self.y.pairs + self.joint.pairs
        return untied - 2 * self.discordant


def pair_counts(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"]
) -> PairCounts:
    """Count the pairs of unmasked positions of each row."""
    n = mask.sum(-1)
    x, y = _masked_last(x, mask), _masked_last(y, mask)
    # Two stable sorts order by x and, among equals, by y, so ties in x leave no inversion.
    y_sorted, by_y = y.sort(dim=-1, stable=True)
    x_sorted, by_x = x.gather(-1, by_y).sort(dim=-1, stable=True)
    y_by_x = y_sorted.gather(-1, by_x)
    new_x, new_y = _starts(x_sorted), _starts(y_sorted)
    return PairCounts(
        n=n,
        total=n * (n - 1) // 2,
        discordant=_inversions(y_by_x),
        x=_ties(new_x, n),
        y=_ties(new_y, n),
        joint=_ties(new_x | _starts(y_by_x), n),
    )


def _masked_last(x: Tensor, mask: Tensor) -> Tensor:
    """Masked positions become +∞ on both sides and sort to the end: they invert nothing, and
    a run of real infinities that they prolong is cut at n again."""
    x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float64)  # lossless
    return torch.where(mask, x, torch.inf)


def _starts(x_sorted: Tensor) -> Tensor:
    """True where a run of equal values begins."""
    new = torch.ones_like(x_sorted, dtype=torch.bool)
    new[:, 1:] = x_sorted[:, 1:] != x_sorted[:, :-1]
    return new


def _ties(new: Tensor, n: Tensor) -> Ties:
    """With r = 0 … t−1 counting through a run, Σ r = t(t−1)/2 and Σ 3r(r−1) = t(t−1)(t−2)."""
    index = torch.arange(new.shape[1], device=new.device).expand(new.shape)
    start = torch.where(new, index, 0).cummax(-1).values if new.shape[1] else index
    r = (index - start) * (index < n[:, None])
    return Ties(pairs=r.sum(-1), triples=3 * (r * (r - 1)).sum(-1))


def _inversions(y: Tensor) -> Int[Tensor, " n"]:
    """Pairs i < j with y_i > y_j, by a bottom-up merge sort over all rows."""
    rows, k = y.shape
    size = 1 << max(0, k - 1).bit_length()
    y = torch.nn.functional.pad(y, (0, size - k), value=torch.inf)
    count = torch.zeros(rows, dtype=torch.int64, device=y.device)
    width = 1
    while width < size:
        blocks = y.view(rows, size // (2 * width), 2, width)
        left, right = (half.contiguous() for half in blocks.unbind(2))
        not_above = torch.searchsorted(left, right, right=True, out_int32=True)
        count += (width - not_above).sum((1, 2))
        width *= 2
        y = y.view(rows, size // width, width).sort(dim=-1).values.view(rows, size)
    return count
