"""How good could an explanation be? The best order of words a search can find.

Two beam searches, one for words whose removal hurts most and one for words that do best
alone. Their finds and all given explanations then compete on each measure, so a ceiling is
never below an explanation it was started from. It is found, not proved: a lower bound of
the true ceiling, more so for long texts, where only a pool of words is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.measures.beam import NEVER, Beams, Hunt, beam_search
from heedful.measures.curves import Curves, Grid, counts_of, curves_of, ranking
from heedful.measures.erasure import ERASURE_MEASURES, erasure
from heedful.measures.exact import all_subsets, exact_orders
from heedful.models import probability
from heedful.randomness import example_keys, keyed_uniform
from heedful.removal import Memory, Operator
from heedful.types import Batch, Model, Target
from heedful.words import word_mask

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
class Ceilings:
    """By measure: the best value, and the explanation that reaches it. `limited` texts were
    searched within a pool; the given order of the best explanation follows its words. Of `exact`
    texts no order does better."""

    values: Mapping[str, Float[Tensor, " b"]]
    scores: Mapping[str, Scores]
    limited: Bool[Tensor, " b"]
    exact: Bool[Tensor, " b"]

    def take(self, rows: Int[Tensor, " n"]) -> Ceilings:
        """Of some texts."""
        values, scores = (
            {name: each[rows] for name, each in part.items()} for part in (self.values, self.scores)
        )
        return Ceilings(values, scores, self.limited[rows], self.exact[rows])


def ceilings(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    starts: Mapping[str, Scores],
    operator: str | Operator,
    target: Target = probability,
    grid: Grid = Grid(),
    search: Search = Search(),
    known: Mapping[str, Curves] | None = None,
    memory: Memory | None = None,
) -> Ceilings:
    """The ceiling of every erasure measure. `known` are the starts' own curves, made with the
    same operator, target and grid; they save making them again, and so does the `memory` they
    were made with."""
    memory = Memory() if memory is None else memory
    mask = word_mask(batch.texts["a"])
    starts = {name: scores.to(mask.device) for name, scores in starts.items()}
    if starts and known is None:
        known = curves_of(model, batch, label, starts, operator, target, grid, memory)
    rivals = {name: erasure((known or {})[name]) for name in starts}
    words = mask.sum(-1)
    subsets = all_subsets(model, batch, (target, label), operator, search.exact, memory)
    exact = subsets.short & (words <= search.exact)
    sizes = torch.where(exact, 0, _pool_sizes(words, max(grid.shares), search))
    found: dict[str, Scores] = {}
    for keep, aim in ((False, "comprehensiveness"), (True, "sufficiency")):
        hunt = Hunt(model, batch, label, operator, keep, target, grid.seed, memory)
        found |= _hunted(hunt, aim, starts, rivals, sizes, grid, search)
    if exact.any():
        after = next(iter(found.values()))  # costs longer texts nothing
        for measure, scores in exact_orders(subsets, grid).items():
            found[f"exact {measure}"] = torch.where(exact[:, None], scores, after)
    hunted = curves_of(model, batch, label, found, operator, target, grid, memory)
    rivals |= {name: erasure(each) for name, each in hunted.items()}
    limited = ~exact & (sizes < words)
    return _winners({**starts, **found}, rivals, limited, exact)


def search_gaps(exact: Ceilings, searched: Ceilings) -> dict[str, Float[Tensor, " b"]]:
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


def _hunted(
    hunt: Hunt,
    aim: str,
    starts: Mapping[str, Scores],
    rivals: Mapping[str, Mapping[str, Tensor]],
    sizes: Tensor,
    grid: Grid,
    search: Search,
) -> dict[str, Scores]:
    """The explanations one search ends with: one for each beam."""
    mask = word_mask(hunt.batch.texts["a"])
    ids, seed = hunt.batch.ids, grid.seed
    leading = {search.guide: starts[search.guide]} if search.guide else starts
    places = [ranking(scores, mask, ids, seed) for scores in leading.values()]
    named = 1.0 if search.guide else 0.75
    counts = counts_of(mask.sum(-1), grid.shares)
    depth = torch.minimum(counts.amax(-1), counts_of(sizes, (max(grid.shares),))[:, 0])
    pool = _pool(places, mask, sizes, named, (seed, ids))
    beams = beam_search(hunt, pool, depth, counts, search.width)
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


def _pool_sizes(words: Tensor, share: float, search: Search) -> Int[Tensor, " b"]:
    sizes = [_pool_size(n, share, search.width, search.budget) for n in words.tolist()]
    return torch.tensor(sizes, dtype=torch.int64, device=words.device)


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
) -> Ceilings:
    best = {
        measure: _best(scores, {name: each[measure] for name, each in values.items()}, measure)
        for measure in ERASURE_MEASURES
        if measure != "flip_censored"
    }
    reached = {measure: value for measure, (value, _) in best.items()}
    never = reached["flip_share"].isnan() & ~reached["comprehensiveness"].isnan()
    undefined = reached["comprehensiveness"].isnan()
    reached["flip_censored"] = torch.where(undefined, torch.nan, never.double())
    maps = {measure: found for measure, (_, found) in best.items()}
    return Ceilings(reached, maps, limited, exact)


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
