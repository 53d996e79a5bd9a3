"""Short texts, exactly: every set of words is asked once, and the best of all orders is known.

An order is a chain of growing sets, and a measure of erasure adds up what the model says at some
of them. The best chain is found set by set: the best way to a set goes through the best way to
one of those that lack a word of it. n·2ⁿ steps instead of n! orders, and no pass of the model.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.experiments.faithfulness import Counts, Grid, counts_at
from heedful.perturbations import Subsets, WordRemoval, bits

AT_ONCE = 1 << 16
"""Sets that are asked for at a time: memory does not grow with the texts of a batch."""
MOST_WORDS = 16
Scores = Float[Tensor, "b w"]


def all_subsets(removal: WordRemoval, words: int) -> Subsets:
    """All sets of the texts of at most so many words, from the removal's memory where it has them,
    and into it where not: nobody who has this memory asks the model for one of them again."""
    memory, mask = removal.memory, removal.mask
    if memory.subsets is not None and memory.subsets.words >= words:
        return memory.subsets
    count = mask.sum(-1)
    short = (count >= 1) & (count <= words)
    size = 1 << max(count[short].tolist(), default=0)
    value = torch.zeros(len(mask), size, dtype=torch.float64, device=mask.device)
    found = Subsets(words, short, mask, value, torch.zeros_like(value, dtype=torch.int64))
    for n, alike in found.by_length:
        most = max(1, AT_ONCE >> n)
        for start in range(0, len(alike), most):
            rows = alike[start : start + most]
            some = removal.take(rows)
            said = some.answers(_every_set(some.mask, 1 << n))
            found.value[rows, : 1 << n] = said.value
            found.decision[rows, : 1 << n] = said.decision
    memory.subsets = found
    return found


def _every_set(mask: Bool[Tensor, "b w"], size: int) -> Bool[Tensor, "b m w"]:
    number = torch.arange(size, device=mask.device)[:, None]
    return ((number >> bits(mask)[:, None]) & 1).bool() & mask[:, None]


def exact_orders(found: Subsets, grid: Grid) -> dict[str, Scores]:
    """By measure of erasure, an order that no other order beats, as scores; zero for texts that
    are not short. Of decisions that never flip any order is as good."""
    scores: dict[str, Scores] = {}
    for n, rows in found.by_length:
        there = found.mask[rows].nonzero()[:, 1].reshape(len(rows), n)
        for measure, place in _places(found, rows, n, grid).items():
            empty = torch.zeros(found.mask.shape, dtype=torch.float64, device=rows.device)
            whole = scores.setdefault(measure, empty)
            whole[rows[:, None], there] = (n - place).double()
    return scores


def _places(found: Subsets, rows: Tensor, n: int, grid: Grid) -> dict[str, Int[Tensor, "r n"]]:
    """Each word's place in the best order for each measure."""
    less = found.value[rows, : 1 << n]
    only = less.flip(-1)  # the words of a set alone: without those of its complement
    counts = counts_at(torch.tensor([n]), grid)
    bins, curve = (each.to(less) for each in _weights(counts))
    return {
        "comprehensiveness": _best_chain(-less, bins),
        "sufficiency": _best_chain(only, bins),
        "deletion_auc": _best_chain(-less, curve),
        "insertion_auc": _best_chain(only, curve),
        "flip_share": _smallest_flip(found.decision[rows, : 1 << n], counts),
    }


def _weights(counts: Counts) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"]]:
    """What the text without k words counts in a mean over bins, and in an area by trapezoids."""
    zero = torch.zeros(int(counts.words) + 1, dtype=torch.float64)
    at = counts.curve[0].double()
    steps = at.diff()
    ends = torch.nn.functional.pad(steps, (0, 1)) + torch.nn.functional.pad(steps, (1, 0))
    one = torch.ones_like(counts.bins[0], dtype=torch.float64)
    return zero.scatter_add(0, counts.bins[0], one), zero.scatter_add(0, counts.curve[0], ends)


def _best_chain(gain: Float[Tensor, "r s"], weight: Float[Tensor, " k"]) -> Int[Tensor, "r n"]:
    """The order whose sets S₁ ⊂ S₂ ⊂ … have the largest Σ weight[k] · gain[S_k]."""
    n = len(weight) - 1
    best, last = torch.zeros_like(gain), torch.zeros_like(gain, dtype=torch.int64)
    for size in range(1, n + 1):
        sets, added = (each.to(gain.device) for each in _sets_of(n, size))
        value, which = best[:, sets[:, None] ^ (1 << added)].max(-1)
        best[:, sets] = value + weight[size] * gain[:, sets]
        last[:, sets] = added[torch.arange(len(sets), device=gain.device), which]
    place = torch.zeros(len(gain), n, dtype=torch.int64, device=gain.device)
    left = torch.full((len(gain), 1), (1 << n) - 1, device=gain.device)
    for size in range(n, 0, -1):
        word = last.gather(1, left)
        place.scatter_(1, word, size - 1)
        left = left ^ (1 << word)
    return place


@lru_cache(maxsize=256)
def _sets_of(n: int, size: int) -> tuple[Int[Tensor, " c"], Int[Tensor, "c k"]]:
    """The numbers of all sets of so many of n words, and their words."""
    words = torch.tensor(list(combinations(range(n), size)))
    return (1 << words).sum(-1), words


def _smallest_flip(decision: Int[Tensor, "r s"], counts: Counts) -> Int[Tensor, "r n"]:
    """First the words of a smallest set whose removal changes the decision."""
    n = int(counts.words)
    words = torch.arange(n, device=decision.device)
    members = (torch.arange(1 << n, device=decision.device)[:, None] >> words) & 1
    size = members.sum(-1)
    tried = torch.isin(size, counts.all.to(size)) & (size >= 1) & (size < n)
    flips = (decision != decision[:, :1]) & tried
    chosen = torch.where(flips, size, n + 1).argmin(-1)
    return (-members[chosen]).argsort(dim=-1, stable=True).argsort(dim=-1)
