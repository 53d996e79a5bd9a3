"""How good could an explanation be? The best order of words, found by search or among all orders.

Two beam searches, one for words whose removal hurts most and one for words that do best
alone. Their finds and all given explanations then compete on each measure, so an oracle is
never below an explanation it was started from. It is found, not proved: a lower bound of
the true optimum, more so for long texts, where only a pool of words is tried. For short texts
the best of all orders is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import ceil

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.experiments.faithfulness import (
    ERASURE_MEASURES,
    Counts,
    Curves,
    Grid,
    counts_at,
    counts_of,
    curves_of,
    faithfulness,
    ranking,
)
from heedful.perturbations import Memory, Subsets, WordRemoval, bits
from heedful.randomness import example_keys, keyed_bits, keyed_uniform

Scores = Float[Tensor, "b w"]


@dataclass(frozen=True)
class Search:
    """`budget` bounds the passes of each of the two searches for each text: where all words
    would cost more, a pool is tried, three quarters of it the given explanations' top words
    and one quarter drawn at random. With a `guide`, one of the explanations, the pool is its top
    words. Texts of at most `exact` words are not searched: the best of all orders is found."""

    width: int = 4
    budget: int = 1000
    guide: str = ""
    exact: int = 0


@dataclass(frozen=True)
class Oracle:
    """By measure: the best value, and the explanation that reaches it. `limited` texts were
    searched within a pool; the given order of the best explanation follows its words. Of `exact`
    texts no order does better."""

    values: Mapping[str, Float[Tensor, " b"]]
    scores: Mapping[str, Scores]
    limited: Bool[Tensor, " b"]
    exact: Bool[Tensor, " b"]

    def take(self, rows: Int[Tensor, " n"]) -> Oracle:
        """Of some texts."""
        values, scores = (
            {name: each[rows] for name, each in part.items()} for part in (self.values, self.scores)
        )
        return Oracle(values, scores, self.limited[rows], self.exact[rows])


def erasure_oracle(
    removal: WordRemoval,
    starts: Mapping[str, Scores],
    grid: Grid = Grid(),
    search: Search = Search(),
    known: Mapping[str, Curves] | None = None,
) -> Oracle:
    """The best value of every erasure measure. `known` are the starts' own curves, made with the
    same removal and grid; they save making them again."""
    mask = removal.mask
    starts = {name: scores.to(mask.device) for name, scores in starts.items()}
    if starts and known is None:
        known = curves_of(removal, starts, grid)
    rivals = {name: faithfulness((known or {})[name]) for name in starts}
    words = mask.sum(-1)
    subsets = all_subsets(removal, search.exact)
    exact = subsets.short & (words <= search.exact)
    pools = [_pool_size(n, max(grid.shares), search.width, search.budget) for n in words.tolist()]
    sizes = torch.where(exact, 0, torch.tensor(pools, dtype=torch.int64, device=words.device))
    found: dict[str, Scores] = {}
    for keep, aim in ((False, "comprehensiveness"), (True, "sufficiency")):
        problem = OrderSearch(removal, keep, grid.seed)
        found |= _searched(problem, aim, starts, rivals, sizes, grid, search)
    if exact.any():
        after = next(iter(found.values()))  # costs longer texts nothing
        for measure, scores in exact_orders(subsets, grid).items():
            found[f"exact {measure}"] = torch.where(exact[:, None], scores, after)
    searched = curves_of(removal, found, grid)
    rivals |= {name: faithfulness(curves) for name, curves in searched.items()}
    return _winners({**starts, **found}, rivals, ~exact & (sizes < words), exact)


def search_gaps(exact: Oracle, searched: Oracle) -> dict[str, Float[Tensor, " b"]]:
    """By measure, how far what a search found for these texts is from the optimum: 0 where it is
    the optimum. A decision that is never flipped counts as flipped by all words."""
    gaps = {}
    for measure, best in exact.values.items():
        if measure == "flip_censored":
            continue
        sign = 1.0 if ERASURE_MEASURES[measure].higher_is_better else -1.0
        found, never = searched.values[measure], measure == "flip_share"
        gap = best.nan_to_num(1.0) - found.nan_to_num(1.0) if never else best - found
        gaps[measure] = (sign * gap).clamp(min=0.0)
    return gaps


def gaps_to_exact(
    removal: WordRemoval,
    starts: Mapping[str, Scores],
    grid: Grid,
    search: Search,
    exact: Oracle,
) -> tuple[list[int], dict[str, Float[Tensor, " n"]]]:
    """How near a search comes to the optimum: the texts for which that is known, and the gaps.
    It asks the model nothing, since all sets of their words are known."""
    rows = exact.exact.nonzero()[:, 0]
    some = removal.take(rows)
    width = some.mask.shape[1]
    assert removal.memory.subsets is not None
    some = replace(some, memory=Memory(removal.memory.subsets.take(rows, width)))
    given = {name: scores[rows, :width] for name, scores in starts.items()}
    found = erasure_oracle(some, given, grid, replace(search, exact=0))
    return rows.tolist(), search_gaps(exact.take(rows), found)


def _searched(
    problem: OrderSearch,
    aim: str,
    starts: Mapping[str, Scores],
    rivals: Mapping[str, Mapping[str, Tensor]],
    sizes: Tensor,
    grid: Grid,
    search: Search,
) -> dict[str, Scores]:
    """The explanations one search ends with: one for each beam."""
    mask, ids, seed = problem.removal.mask, problem.removal.batch.ids, grid.seed
    leading = {search.guide: starts[search.guide]} if search.guide else starts
    places = [ranking(scores, mask, ids, seed) for scores in leading.values()]
    named = 1.0 if search.guide else 0.75
    counts = counts_of(mask.sum(-1), grid.shares)
    depth = torch.minimum(counts.amax(-1), counts_of(sizes, (max(grid.shares),))[:, 0])
    pool = _pool(places, mask, sizes, named, (seed, ids))
    beams = beam_search(problem, pool, depth, counts, search.width)
    fallback = torch.zeros_like(mask, dtype=torch.float64)
    if starts:
        fallback = _best(starts, {name: rivals[name][aim] for name in starts}, aim)[1]
    after = ranking(fallback, mask, ids, seed)
    return {f"{aim} {beam}": _as_scores(beams, beam, after, mask) for beam in range(search.width)}


def _as_scores(beams: Beams, beam: int, after: Tensor, mask: Tensor) -> Scores:
    """The search's words in its order, then the others in the fallback's."""
    step = beams.step[:, beam]
    place = torch.where(step < NEVER, step, NEVER + after).argsort(-1).argsort(-1)
    return (mask.shape[1] - place).double() * mask


def _pool(
    places: list[Tensor],
    mask: Tensor,
    sizes: Tensor,
    share: float,
    chance: tuple[int, tuple[str, ...]],
) -> Bool[Tensor, "b w"]:
    """The words a search may choose from: first those that any explanation ranks high, for this
    `share` of the pool."""
    keys = example_keys(*chance, "pool").to(mask.device)
    by_chance, tie = keyed_uniform(keys, (2, mask.shape[1])).unbind(1)
    named = torch.stack([p.double() for p in places]).amin(0) + tie if places else tie
    named = named.masked_fill(~mask, torch.inf).argsort(-1).argsort(-1)
    first = named < (share * sizes[:, None]).ceil()
    later = torch.where(first, -1.0, by_chance).masked_fill(~mask, torch.inf)
    return mask & (later.argsort(-1).argsort(-1) < sizes[:, None])


@lru_cache(maxsize=4096)
def _pool_size(words: int, share: float, width: int, budget: int) -> int:
    """The most words that can be searched for their budget, and at least one."""
    fits = [size for size in range(1, words + 1) if _cost(size, share, width) <= budget]
    return max(fits, default=min(1, words))


def _cost(size: int, share: float, width: int) -> int:
    """One beam tries every word, then all beams every other word, until enough are chosen."""
    depth = max(1, ceil(share * size - 1e-9))
    return size + width * sum(size - step for step in range(1, depth))


def _winners(
    scores: Mapping[str, Scores],
    values: Mapping[str, Mapping[str, Tensor]],
    limited: Tensor,
    exact: Tensor,
) -> Oracle:
    reached, maps = {}, {}
    for measure in ERASURE_MEASURES:
        if measure != "flip_censored":
            by_map = {name: each[measure] for name, each in values.items()}
            reached[measure], maps[measure] = _best(scores, by_map, measure)
    undefined = reached["comprehensiveness"].isnan()
    never = reached["flip_share"].isnan().double()
    reached["flip_censored"] = torch.where(undefined, torch.nan, never)
    return Oracle(reached, maps, limited, exact)


def _best(
    scores: Mapping[str, Scores], values: Mapping[str, Tensor], measure: str
) -> tuple[Tensor, Scores]:
    """Each text's best value and the scores behind it; NaN loses to any number."""
    table = torch.stack(list(values.values()), -1)
    sign = 1.0 if ERASURE_MEASURES[measure].higher_is_better else -1.0
    index = torch.where(table.isnan(), -torch.inf, sign * table).argmax(-1, keepdim=True)
    maps = torch.stack([scores[name] for name in values], 1)
    chosen = maps.gather(1, index[..., None].expand(-1, -1, maps.shape[2]))[:, 0]
    return table.gather(1, index).squeeze(1), chosen


# Beam search for the order of words whose removal, or whose company alone, does the most.
#
# The value of a beginning counts the bins it has reached, and for those still to come what it
# has won so far. Equal sets reached by different ways are one.


@dataclass(frozen=True)
class OrderSearch:
    """What is asked of the model. `keep`: the chosen words stay and the others go; the fall of
    the explained quantity is then to be small, else large."""

    removal: WordRemoval
    keep: bool
    seed: int = 0

    def gains(self, chosen: Bool[Tensor, "b m w"]) -> Float[Tensor, "b m"]:
        """The quantity of the changed texts, turned so that more is better."""
        mask = self.removal.mask[:, None]
        value = self.removal.answers(mask & ~chosen if self.keep else mask & chosen).value
        return value if self.keep else -value


@dataclass(frozen=True)
class Beams:
    """`step[b, v, w]` is when a word was chosen, from 0; `NEVER` for the others. A beam that
    is not alive holds nothing (the first has to grow before there are others)."""

    step: Int[Tensor, "b v w"]
    banked: Float[Tensor, "b v"]
    alive: Bool[Tensor, "b v"]

    @property
    def chosen(self) -> Bool[Tensor, "b v w"]:
        return self.step < NEVER


NEVER = 1 << 30


def beam_search(
    problem: OrderSearch,
    pool: Bool[Tensor, "b w"],
    depth: Int[Tensor, " b"],
    counts: Int[Tensor, "b s"],
    width: int,
) -> Beams:
    """Orders of `depth` words out of each text's pool; `counts` are the bins' sizes."""
    size = max(1, int(pool.sum(-1).max()))
    words = (~pool).to(torch.int8).argsort(dim=-1, stable=True)[:, :size]  # side by side
    there = pool.gather(1, words)
    beams = _start(pool, width)
    for step in range(int(depth.max())):
        grown, valid = _grow(beams, words, there & (step < depth)[:, None], step)
        gain = problem.gains((grown < NEVER) & valid[..., None])
        reached, ahead = (counts == step + 1).sum(-1), (counts > step + 1).sum(-1)
        banked = beams.banked.repeat_interleave(words.shape[1], 1) + reached[:, None] * gain
        value = torch.where(valid, banked + ahead[:, None] * gain, -torch.inf)
        best, alive = _best_beams(problem, grown < NEVER, value, width)
        steps = grown.gather(1, best[..., None].expand(-1, -1, grown.shape[2]))
        found = Beams(steps, banked.gather(1, best), alive)
        beams = _where(step < depth, found, beams)
    return beams


def _start(pool: Tensor, width: int) -> Beams:
    b, w = pool.shape
    alive = torch.zeros(b, width, dtype=torch.bool, device=pool.device)
    alive[:, 0] = True
    step = torch.full((b, width, w), NEVER, device=pool.device)
    return Beams(step, torch.zeros(b, width, dtype=torch.float64, device=pool.device), alive)


def _grow(beams: Beams, words: Tensor, there: Tensor, step: int) -> tuple[Tensor, Tensor]:
    """Every beam with each of the pool's words added: `[b, v·p, w]`, and which are new."""
    b, v, w = beams.step.shape
    p = words.shape[1]
    index = words[:, None, :, None].expand(b, v, p, 1)
    before = beams.step[:, :, None].expand(b, v, p, w)
    new = there[:, None] & beams.alive[..., None] & (before.gather(3, index)[..., 0] == NEVER)
    return before.scatter(3, index, step).flatten(1, 2), new.flatten(1, 2)


def _best_beams(
    problem: OrderSearch, chosen: Tensor, value: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    """The best rows with different sets, and which of them are real. Differences that rounding
    could have made are ties, and ties fall by chance, not by position."""
    keys = example_keys(problem.seed, problem.removal.batch.ids, "beam").to(value.device)
    sets = (chosen * keyed_bits(keys, (chosen.shape[2],))[:, None]).sum(-1)
    chance = ((keyed_bits(sets.flatten(), (1,)) >> 10).double() / (1 << 53)).reshape(sets.shape)
    order = ((value * _RESOLUTION).round() + chance).argsort(dim=-1, descending=True)
    sets, ordered = sets.gather(1, order), value.gather(1, order)
    again = (sets[:, :, None] == sets[:, None]).tril(-1).any(-1)
    lost = again | ordered.isinf()
    kept = lost.to(torch.int8).argsort(dim=-1, stable=True)[:, :width]
    return order.gather(1, kept), ~lost.gather(1, kept)


_RESOLUTION = 1e6


def _where(going: Tensor, found: Beams, before: Beams) -> Beams:
    """Texts that are done stay as they are. Narrow pools give fewer beams than wanted."""
    short = before.alive.shape[1] - found.alive.shape[1]
    pad = torch.nn.functional.pad
    step = pad(found.step, (0, 0, 0, short), value=NEVER)
    banked, alive = pad(found.banked, (0, short)), pad(found.alive, (0, short))
    return Beams(
        torch.where(going[:, None, None], step, before.step),
        torch.where(going[:, None], banked, before.banked),
        torch.where(going[:, None], alive, before.alive),
    )


# Short texts, exactly: every set of words is asked once, and the best of all orders is known.
#
# An order is a chain of growing sets, and a measure of erasure adds up what the model says at some
# of them. The best chain is found set by set: the best way to a set goes through the best way to
# one of those that lack a word of it. n·2ⁿ steps instead of n! orders, and no pass of the model.


AT_ONCE = 1 << 16
"""Sets that are asked for at a time: memory does not grow with the texts of a batch."""
MOST_WORDS = 16


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
            number = torch.arange(1 << n, device=mask.device)[:, None]
            every = ((number >> bits(some.mask)[:, None]) & 1).bool() & some.mask[:, None]
            said = some.answers(every)
            found.value[rows, : 1 << n] = said.value
            found.decision[rows, : 1 << n] = said.decision
    memory.subsets = found
    return found


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
