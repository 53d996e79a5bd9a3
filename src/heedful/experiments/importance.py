"""Which words matter, in either direction, and how many of them an explanation finds.

Erasure asks what the predicted class loses, so it rewards knowing which words speak *for* it: a
question attention does not answer. Here a word matters as far as the output moves when it goes,
whichever way:

    I_w = E |f(x without S) − f(x without S and w)|,   S the words before w in a random order.

That is the Shapley value with the size of every change in place of the change itself. Words for
and against the class both count, and they cannot cancel each other. An explanation is judged by the
order of its magnitudes alone, so a map with signs and the same map without them score the same.

Texts of few words are computed exactly, over all sets of words. For longer ones orders are drawn,
each with its reverse. All explanations share the same runs of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import factorial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import SHARE, SIGNED, Measure
from heedful.errors import HeedfulError
from heedful.experiments.faithfulness import Grid, counts_of, ranking
from heedful.experiments.map_sanity import random_sets
from heedful.experiments.oracle import MOST_WORDS, all_subsets
from heedful.metrics import TOLERANCE, kendall_tau_b, tied_ranks
from heedful.perturbations import Subsets, WordRemoval
from heedful.randomness import example_keys, keyed_uniform

IMPORTANCE_MEASURES = {
    "importance_captured": Measure(
        "importance among the top words, fewer of them counting more (0: a random order)",
        True,
        range=SIGNED,
        formula="(s − r) / (1 − r): s is the mean over k of the importance that the top k words "
        "hold, k weighing 1/(k(k + 1)); r is the s of a random order",
        papers=("lundberg2017",),
    ),
    "importance_tau": Measure(
        "Kendall τ-b with the importance of words",
        True,
        range=SIGNED,
        papers=("lundberg2017",),
    ),
}

Scores = Float[Tensor, "b w"]


@dataclass(frozen=True)
class Draws:
    """`orders` are drawn for each text, an even number: each comes with its reverse. Texts of at
    most `exact` words are computed over all 2ⁿ sets instead."""

    orders: int = 8
    exact: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.orders < 4 or self.orders % 2:
            raise HeedfulError(f"orders is {self.orders}: give an even number of at least four.")
        if not 0 <= self.exact <= MOST_WORDS:
            raise HeedfulError(f"exact is {self.exact}: give 0 to {MOST_WORDS} words.")


@dataclass(frozen=True)
class Importance:
    """The importance of every word, and the same from each pair of orders by itself; exact ones
    have equal parts. `shapley` is the mean of the changes themselves, in place of their sizes: how
    far a word speaks for the explained class; `drawn` the same from drawn orders alone, also where
    texts are exact. Zero where no word is."""

    words: Scores
    parts: Float[Tensor, "b o w"]
    mask: Bool[Tensor, "b w"]
    shapley: Scores
    drawn: Scores


def importance(removal: WordRemoval, draws: Draws = Draws()) -> Importance:
    """How much every word of every text matters to the explained quantity."""
    mask = removal.mask
    known = all_subsets(removal, draws.exact)
    place = _places(mask, removal.batch.ids, draws)
    sets = _prefixes(place, mask[:, None]).flatten(1, 2)
    values = removal.answers(sets).value
    steps = values.reshape(*place.shape[:2], -1).diff(dim=-1)
    change = (-steps).gather(2, place).masked_fill(~mask[:, None], 0.0)  # as each word went
    size, fall = change.abs().reshape(len(mask), -1, 2, mask.shape[1]).mean(2), change.mean(1)
    exact = _exact(known)
    short = known.short[:, None]
    parts = torch.where(short[..., None], exact[0][:, None], size)
    return Importance(parts.mean(1), parts, mask, torch.where(short, exact[1], fall), fall)


LEAST = {"probability": 0.02, "logit": 0.08, "contrast": 0.08}
"""Below this sum over words there is nothing to explain: nobody sees less than two points of
probability. A probability moves at most a quarter as far as its logit."""


def measured(
    explanations: Mapping[str, Scores], found: Importance, least: float = 0.0
) -> dict[str, dict[str, Float[Tensor, " b"]]]:
    """Every measure of every explanation; NaN where all words together matter less than `least`."""
    if not explanations:
        return {}
    every, own = _all_together(explanations, found)
    taus = _enough(_tau(*every).reshape(own), found, least)
    shares = _captured_by_all(every, own, found, least)
    return {
        name: {"importance_captured": share, "importance_tau": tau}
        for name, share, tau in zip(explanations, shares, taus, strict=True)
    }


def all_captured(
    explanations: Mapping[str, Scores], found: Importance, least: float = 0.0
) -> dict[str, Float[Tensor, " b"]]:
    """What each explanation captures, and no more: for very many of them."""
    if not explanations:
        return {}
    shares = _captured_by_all(*_all_together(explanations, found), found, least)
    return dict(zip(explanations, shares, strict=True))


def _captured_by_all(
    every: tuple[Tensor, Tensor, Tensor], own: tuple[int, int], found: Importance, least: float
) -> Float[Tensor, "m b"]:
    return _enough(captured(*every).reshape(own), found, least)


def _all_together(
    explanations: Mapping[str, Scores], found: Importance
) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[int, int]]:
    """Scores, importance and mask, a row for each explanation of each text; how many of both."""
    scores = torch.stack([each.to(found.words) for each in explanations.values()])
    times = (len(scores), 1)
    rows = scores.flatten(0, 1), found.words.repeat(times), found.mask.repeat(times)
    return rows, (len(scores), len(found.words))


def importance_oracle(found: Importance, least: float = 0.0) -> dict[str, Float[Tensor, " b"]]:
    """What the best order reaches: the optimum on exact texts. Where orders were drawn, the order
    of all draws seems too good when it is scored on them, and the order of all but one pair is too
    poor when it is scored on that pair: by as much, to second order of the error. So captured is
    the middle of both; τ is that of one half of the draws with the other."""
    pairs = found.parts.shape[1]
    own = captured(found.words, found.words, found.mask)
    held = torch.zeros_like(own)
    for pair in range(pairs):
        part = found.parts[:, pair]
        others = (found.words * pairs - part) / (pairs - 1)
        held = held + captured(others, part, found.mask).nan_to_num() * part.sum(-1)
    total = found.parts.sum((1, 2))
    crossed = held / total.clamp(min=torch.finfo(total.dtype).tiny)
    one, other = (half.mean(1) for half in found.parts.tensor_split(2, 1))
    return {
        "importance_captured": _enough((own + crossed) / 2, found, least),
        "importance_tau": _enough(_tau(one, other, found.mask), found, least),
    }


def _enough(values: Tensor, found: Importance, least: float) -> Tensor:
    return torch.where(found.words.sum(-1) >= least, values, torch.nan)


def _tau(scores: Scores, importance: Scores, mask: Tensor) -> Float[Tensor, " b"]:
    return kendall_tau_b(scores.abs().to(importance), importance, mask).tau


EARLY, EVENLY, LOGARITHMIC = "early", "evenly", "logarithmic"
_DISCOUNTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    EARLY: lambda place, count: (1 / (place + 1) - 1 / count) / (1 - 1 / count),
    EVENLY: lambda place, count: 1 - place / (count - 1),
    LOGARITHMIC: lambda place, count: 1 / torch.log2(place + 2),
}
"""What a word counts in place 0, 1, … of so many; at the top 1. `early` is the share of the numbers
k = 1 … n − 1 for which it is among the top k, each weighing 1/(k(k + 1)); `evenly` is the same with
equal weights."""


def captured(
    scores: Scores, importance: Scores, mask: Bool[Tensor, "b w"], discount: str = EARLY
) -> Float[Tensor, " b"]:
    """How much of the importance the words at the top hold, and the fewer of them the better.

    Every word counts by its place, and tied words share theirs; what a random order holds is taken
    off. So a random order captures 0 on average, and a word that holds everything and is at the
    top captures 1. NaN where there are fewer than two words, or none of them matters.
    """
    scores = scores.abs().to(importance)
    count = mask.sum(-1)
    weight, mean = _weights(tied_ranks(scores, mask, TOLERANCE[torch.float32]), mask, discount)
    total = importance.sum(-1)
    held = torch.where(mask, importance * weight, 0.0).sum(-1)
    share = held / total.clamp(min=torch.finfo(total.dtype).tiny)
    known = (count > 1) & (total > 0) & (scores.isfinite() | ~mask).all(-1)
    return torch.where(known, (share - mean) / (1 - mean), torch.nan)


def _weights(
    ranks: Int[Tensor, "b w"], mask: Bool[Tensor, "b w"], discount: str
) -> tuple[Float[Tensor, "b w"], Float[Tensor, " b"]]:
    """What every word counts, equal ranks the mean of their places; and the mean over words."""
    wide, device = mask.shape[1], mask.device
    count = mask.sum(-1, keepdim=True).clamp(min=2).double()
    place = torch.arange(wide, dtype=torch.float64, device=device).expand(len(mask), -1)
    each = torch.where(place < count, _DISCOUNTS[discount](place, count), 0.0)
    until = torch.nn.functional.pad(each.cumsum(-1), (1, 0))  # of the first 0, 1, … places
    size = torch.zeros(len(mask), wide + 1, dtype=torch.int64, device=device)
    chosen = ranks.clamp(min=0)
    size = size.scatter_add(1, chosen, mask.long())
    above = size.flip(-1).cumsum(-1).flip(-1) - size  # how many have a higher rank
    first, alike = above.gather(1, chosen), size.gather(1, chosen)
    last = (first + alike).clamp(max=wide)
    own = (until.gather(1, last) - until.gather(1, first)) / alike.clamp(min=1)
    return own, each.sum(-1) / count[:, 0]


def _places(mask: Bool[Tensor, "b w"], ids: tuple[str, ...], draws: Draws) -> Int[Tensor, "b o w"]:
    """The place of every word in every order, its text's other words only; then what is no word."""
    keys = example_keys(draws.seed, ids, "importance").to(mask.device)
    chance = keyed_uniform(keys, (draws.orders // 2, mask.shape[1]))
    forth = chance.masked_fill(~mask[:, None], torch.inf).argsort(-1).argsort(-1)
    last = mask.sum(-1)[:, None, None] - 1
    back = torch.where(mask[:, None], last - forth, forth)
    return torch.stack([forth, back], 2).flatten(1, 2)


def _prefixes(place: Int[Tensor, "*#b w"], mask: Bool[Tensor, "*#b w"]) -> Bool[Tensor, "*#b k w"]:
    """The sets of the first 0, 1, … words of an order."""
    steps = torch.arange(mask.shape[-1] + 1, device=mask.device)
    return (place[..., None, :] < steps[:, None]) & mask[..., None, :]


def _exact(known: Subsets) -> tuple[Scores, Scores]:
    """The expectations over all orders of a change's size and of the change: a set of k of n words
    comes before a word in k! (n − k − 1)! of n! orders."""
    size, fall = (torch.zeros_like(known.mask, dtype=torch.float64) for _ in range(2))
    for n, rows in known.by_length:
        there = known.mask[rows].nonzero()[:, 1].reshape(len(rows), n)
        values = known.value[rows, : 1 << n]
        sets = torch.arange(1 << n, device=values.device)
        before = sum((sets >> bit) & 1 for bit in range(n))
        weight = [factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)]
        weights = values.new_tensor([*weight, 0.0])[before]
        for bit in range(n):
            without = sets[(sets >> bit) & 1 == 0]
            change = values[:, without] - values[:, without | (1 << bit)]
            size[rows, there[:, bit]] = (weights[without] * change.abs()).sum(-1)
            fall[rows, there[:, bit]] = (weights[without] * change).sum(-1)
    return size, fall


# Candidates for an unsigned measure of faithfulness: which words matter, in either direction.
#
# `importance_captured` and `importance_tau` are two of them; here are
# the others. All look at magnitudes of scores alone, and all ask the same memory. What a benchmark
# with known truth says of each decides which are used.
#
# Words of both signs can cancel: a set that holds one for and one against the prediction may change
# nothing, though both matter. A measure that looks at whole sets, or that lets a word's own changes
# cancel, then prefers an explanation that leaves out words that matter. `REJECTED` says which do
# and why; a test shows each.


CANDIDATE_MEASURES = {
    "importance_evenly": Measure(
        "importance among the top words, averaged over how many those are (0: a random order)",
        True,
        range=SIGNED,
        formula="as importance_captured, all k weighing the same",
        papers=("lundberg2017",),
    ),
    "importance_gain": Measure(
        "discounted gain of importance (0: a random order)",
        True,
        range=SIGNED,
        formula="as importance_captured, place p counting 1/log2(p + 1), as in nDCG",
        papers=("lundberg2017",),
    ),
    "path_variation": Measure(
        "share of the output's movement at early steps, as words go one by one (0.5: no step is "
        "special)",
        True,
        range=SHARE,
        formula="Σ_k (1 − (k − 1)/(n − 1)) |Δ_k| / Σ_k |Δ_k|: Δ_k is the change as the k-th goes",
    ),
    "removed_change": Measure(
        "mean size of the output's change when the top words go",
        True,
        range=SHARE,
        formula="mean over s of |f(x) − f(x without the top s of its words by magnitude)|",
    ),
    "subset_correlation": Measure(
        "correlation of summed magnitudes with the size of the change, over random sets of words",
        True,
        range=SIGNED,
        formula="Pearson's r over random sets S of Σ_{w∈S} |score_w| and |f(x) − f(x without S)|",
    ),
    "shapley_captured": Measure(
        "size of Shapley values among the top words, as importance_captured has it",
        True,
        range=SIGNED,
        papers=("lundberg2017",),
    ),
    "shapley_tau": Measure(
        "Kendall τ-b of magnitudes with those of Shapley values",
        True,
        range=SIGNED,
        papers=("lundberg2017",),
    ),
    "magnitude_comprehensiveness": Measure(
        "mean fall of p when the words of largest magnitude go",
        True,
        range=SIGNED,
        formula="mean over s of f(x) − f(x without the top s of its words by magnitude)",
        papers=("deyoung2020",),
    ),
}
_SET = (
    "a word for and a word against the prediction cancel when both are gone, so an explanation "
    "that leaves out one of them scores higher"
)
REJECTED: Mapping[str, str] = {
    "removed_change": _SET,
    "magnitude_comprehensiveness": _SET,
    "subset_correlation": "sets that hold a word for and a word against the prediction change "
    "little, so an explanation that names neither scores higher",
    "shapley_captured": "a word that speaks for the prediction beside some words and against it "
    "beside others (XOR) cancels itself: its Shapley value is 0 though it matters",
    "shapley_tau": "as shapley_captured",
}
"""Candidates that reward cancellation, each with the reason."""

SETS = 32
"""Random sets of words for a correlation."""
Values = Float[Tensor, " b"]


def unsigned_measures(
    removal: WordRemoval,
    explanations: Mapping[str, Scores],
    draws: Draws = Draws(),
    least: float = 0.0,
) -> dict[str, dict[str, Values]]:
    """Every candidate of every explanation. NaN where all words together matter less than `least`,
    as for importance. Takes a pass for each word of each explanation that the memory lacks."""
    mask, ids = removal.mask, removal.batch.ids
    found = importance(removal, draws)
    sets = random_sets(mask, ids, SETS, draws.seed)
    whole = torch.zeros_like(sets[:, :1])
    said = removal.answers(torch.cat([whole, sets], 1)).value
    moved = (said[:, :1] - said[:, 1:]).abs()
    shapley = found.shapley.abs().round(decimals=7)  # what cancels is 0, whatever rounding says
    enough = found.words.sum(-1) >= least
    measures: dict[str, dict[str, Values]] = {}
    for name, scores in explanations.items():
        sizes = scores.abs().to(found.words)
        place = ranking(sizes, mask, ids, draws.seed)
        path = removal.answers(_prefixes(place, mask)).value
        values = _along(path, mask.sum(-1))
        values["subset_correlation"] = _correlation((sets * sizes[:, None]).sum(-1), moved)
        values["importance_evenly"] = captured(sizes, found.words, mask, EVENLY)
        values["importance_gain"] = captured(sizes, found.words, mask, LOGARITHMIC)
        values["shapley_captured"] = captured(sizes, shapley, mask)
        values["shapley_tau"] = kendall_tau_b(sizes, shapley, mask).tau
        known = enough & (sizes.isfinite() | ~mask).all(-1) & (mask.sum(-1) > 1)
        measures[name] = {
            each: torch.where(known, values[each], torch.nan) for each in CANDIDATE_MEASURES
        }
    return measures


def _along(path: Float[Tensor, "b k"], words: Int[Tensor, " b"]) -> dict[str, Values]:
    """What is read off the path of one order."""
    steps = path.diff(dim=-1).abs()
    place = torch.arange(steps.shape[1], dtype=torch.float64, device=path.device)
    weight = (1 - place / (words - 1).clamp(min=1)[:, None]).clamp(min=0)
    total = steps.sum(-1)
    early = (weight * steps).sum(-1) / torch.where(total > 0, total, torch.nan)
    fall = path[:, :1] - path.gather(1, counts_of(words, Grid().shares))
    return {
        "path_variation": early,
        "removed_change": fall.abs().mean(-1),
        "magnitude_comprehensiveness": fall.mean(-1),
    }


def _correlation(one: Float[Tensor, "b m"], other: Float[Tensor, "b m"]) -> Values:
    """Pearson's; NaN where one of them does not vary."""
    a, b = (each - each.mean(-1, keepdim=True) for each in (one, other))
    size = a.norm(dim=-1) * b.norm(dim=-1)
    varied = size > 1e-12
    return torch.where(varied, (a * b).sum(-1) / torch.where(varied, size, 1.0), torch.nan)
