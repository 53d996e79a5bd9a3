"""Do two scores order the same things alike? Kendall's τ-b, at the top, and with ties.

Which scores are equal? Rounding must not decide.

Equal words can get scores that differ in the last bit, depending on what else is in the
batch. Scores closer to their neighbour than a tolerance are therefore tied: each row is
turned into ranks, and rank measures see those.

The error of a softmax weight is a share of the weight itself, however small it is; that of
a difference of outputs, or of a sum of products, is a share of the row's largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from heedful.entries import Entries, Metric, share, signed_share

ENTRIES = Entries(Metric)

TOLERANCE = {
    torch.bfloat16: 1e-2,
    torch.float16: 1e-3,
    torch.float32: 2e-5,
    torch.float64: 1e-10,
}
"""For scores that were computed in this precision: more than the rounding of what equal words get,
which in single precision was seen to be up to 1.2e-5 of the row's largest, where leaving any word
out changes the output by less than 0.004."""


def tied_ranks(
    x: Float[Tensor, "n k"], mask: Bool[Tensor, "n k"], tolerance: float, own_scale: bool = False
) -> Int[Tensor, "n k"]:
    """Ranks from 0, equal for tied scores; −1 at masked positions.

    The tolerance is a share of the row's largest magnitude, or with `own_scale` of the larger
    of the two neighbours.
    """
    shown = x.double().masked_fill(~mask, torch.inf)
    ordered, order = shown.sort(dim=-1)
    if own_scale:
        scale = torch.maximum(ordered[:, 1:].abs(), ordered[:, :-1].abs())
    else:
        scale = x.double().masked_fill(~mask, 0.0).abs().amax(-1, keepdim=True)
    steps = ordered.diff(dim=-1) > tolerance * scale
    ranks = torch.nn.functional.pad(steps.long().cumsum(-1), (1, 0))
    return torch.full_like(ranks, -1).scatter(-1, order, ranks).masked_fill(~mask, -1)


def first_largest(
    x: Float[Tensor, "n k"], mask: Bool[Tensor, "n k"], tolerance: float
) -> Int[Tensor, " n"]:
    """The place of each row's largest score; of several that tie with it, the first."""
    shown = x.double().masked_fill(~mask, -torch.inf)
    scale = x.double().masked_fill(~mask, 0.0).abs().amax(-1, keepdim=True)
    tied = shown >= shown.amax(-1, keepdim=True) - tolerance * scale
    return tied.to(torch.uint8).argmax(-1)


# Concordant, discordant and tied pairs, without looking at each pair.
#
# Knight (1966): sort by x, then count the exchanges a merge sort of y makes. All rows are
# merged together, O(k log² k) for each and no k×k temporary.


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


# Two-sided p-values of Kendall's τ: exact for short rows without ties, else normal.


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


# Kendall's τ-b for many ragged rows at once, equal to `scipy.stats.kendalltau`.


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


@ENTRIES.entry(
    signed_share("Kendall's τ-b between two scores of the same tokens", True),
    name="kendall",
    paper="jain2019",
    formula=(
        "τ_b = (C − D) / √((N − T_x)(N − T_y)): of N pairs C are in the same order, D in the "
        "opposite one, T_x and T_y tied in x and in y"
    ),
    higher="the two orders agree more: 0 unrelated, −1 reversed",
    cost="k log² k for a text of k tokens; no table of pairs is made",
    limits=(
        "All pairs count alike, so on long texts the many near-equal small weights decide "
        "(`top_k` leaves them out). It is undefined where one side is constant. Two orders can "
        "agree and both be wrong."
    ),
)
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


# Agreement at the top of two rankings.


@ENTRIES.entry(
    signed_share("Kendall's τ-b over the tokens that either score ranks among its k highest", True),
    name="top_k",
    measures={
        "tau": signed_share("τ-b over the union of both top-k sets", True),
        "overlap": share("share of the top k that both scores name", True),
    },
    formula="τ_b over top_k(x) ∪ top_k(y); overlap = |top_k(x) ∩ top_k(y)| / k",
    higher="the tokens at the top are ordered more alike, or more of them are the same",
    cost="sorting the tokens of each text",
    limits=(
        "Of unrelated scores τ is below 0 here, since each token in the union is high on one "
        "side; the overlap they have by chance is about k/n. k is a choice."
    ),
)
def top_k_tau(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int
) -> KendallResult:
    """Kendall's τ-b over the union of both sides' top k: long tails of near-equal weights,
    which dominate τ on long texts, are left out. `n` is the size of the union."""
    return kendall_tau_b(x, y, top_k(x, mask, k) | top_k(y, mask, k))


def top_k_overlap(
    x: Num[Tensor, "n k"], y: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int
) -> Float[Tensor, " n"]:
    """|top k of x ∩ top k of y| / k, with k capped at the row's length; NaN for no token."""
    both = (top_k(x, mask, k) & top_k(y, mask, k)).sum(-1)
    return both.to(torch.float64) / mask.sum(-1).clamp(max=k)


def top_k(x: Num[Tensor, "n k"], mask: Bool[Tensor, "n k"], k: int) -> Bool[Tensor, "n k"]:
    """The k largest unmasked positions of each row; among equals the earlier wins."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    by_value = x.detach().sort(dim=-1, descending=True, stable=True).indices
    masked = (~mask).gather(-1, by_value).to(torch.int8)
    order = by_value.gather(-1, masked.sort(dim=-1, stable=True).indices)  # masked last
    first = torch.zeros_like(mask).scatter(-1, order[:, :k], True)
    return first & mask
