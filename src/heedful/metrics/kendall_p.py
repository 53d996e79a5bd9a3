"""Two-sided p-values of Kendall's τ: exact for short rows without ties, else normal."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.metrics.kendall_counts import PairCounts, Ties


def p_value(counts: PairCounts) -> Float[Tensor, " n"]:
    """SciPy's `method="auto"`. Rows whose τ is undefined get a number without meaning."""
    tail = torch.minimum(counts.discordant, counts.total - counts.discordant)
    untied = (counts.x.pairs == 0) & (counts.y.pairs == 0)
    short = untied & (counts.n <= _EXACT)
    extreme = untied & (counts.n > _EXACT) & (tail <= 1)
    p = torch.where(extreme, _extreme(counts.n, tail), _normal(counts))
    return torch.where(short, _exact(counts.n, tail), p)


_EXACT = 33  # SciPy's bound for the exact distribution


def _exact(n: Tensor, tail: Tensor) -> Tensor:
    """2·P(inversions ≤ tail) among n! orders (Kendall 1970, ch. 5)."""
    table = torch.tensor(_table(), dtype=torch.float64, device=n.device)
    return table[n.clamp(max=_EXACT), tail.clamp(0, table.shape[1] - 1)]


def _extreme(n: Tensor, tail: Tensor) -> Tensor:
    """The same for tails 0 and 1, where it is 2/n! and 2/(n−1)! for every n."""
    return (math.log(2.0) - torch.lgamma((n + 1 - tail).clamp(min=1).to(torch.float64))).exp()


def _normal(counts: PairCounts) -> Tensor:
    """Concordant − discordant over its tie-corrected deviation (Kendall 1970, §4.4)."""
    n = counts.n.to(torch.float64)
    m = (n * (n - 1)).clamp(min=1)
    variance = (m * (2 * n + 5) - _v(counts.x) - _v(counts.y)) / 18
    variance = variance + 2 * counts.x.pairs.to(torch.float64) * counts.y.pairs / m
    triples = counts.x.triples.to(torch.float64) * counts.y.triples
    variance = variance + triples / (9 * m * (n - 2).clamp(min=1))
    z = counts.concordant_minus_discordant / variance.sqrt()
    p: Tensor = torch.special.erfc(z.abs() / math.sqrt(2.0))
    return p


def _v(ties: Ties) -> Tensor:
    """Σ t(t−1)(2t+5), written with the sums at hand: 2t+5 = 2(t−2) + 9."""
    return (2 * ties.triples + 18 * ties.pairs).to(torch.float64)


@lru_cache(maxsize=1)
def _table() -> list[list[float]]:
    """Row n, column c: the two-sided p of c inversions. Whole numbers until the division."""
    width = _EXACT * (_EXACT - 1) // 4 + 1
    table, ways = [[1.0] * width], [1] + [0] * (width - 1)
    for n in range(1, _EXACT + 1):
        # A new largest item makes 0 … n−1 inversions (Mahonian numbers).
        ways = [sum(ways[max(0, c - n + 1) : c + 1]) for c in range(width)]
        below, row = 0, []
        for count in ways:
            below += count
            row.append(min(1.0, 2 * below / math.factorial(n)))
        table.append(row)
    return table
