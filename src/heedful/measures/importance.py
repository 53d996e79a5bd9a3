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

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import SHARE, SIGNED, Measure
from heedful.errors import HeedfulError
from heedful.metrics.kendall import kendall_tau_b
from heedful.metrics.ties import TOLERANCE, tied_ranks
from heedful.models.output import probability
from heedful.randomness import example_keys, keyed_uniform
from heedful.removal.answers import answers
from heedful.removal.memory import Memory
from heedful.removal.operator import Operator
from heedful.types import Batch, Model, Target
from heedful.words import word_mask

MEASURES = {
    "importance_captured": Measure(
        "importance among the top words, averaged over how many those are (0.5: a random order)",
        True,
        range=SHARE,
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
    """`orders` are drawn for each text, a multiple of four: two halves, each of orders with their
    reverses. Texts of at most `exact` words are computed over all 2ⁿ sets instead."""

    orders: int = 16
    exact: int = 7
    seed: int = 0

    def __post_init__(self) -> None:
        if self.orders < 4 or self.orders % 4:
            raise HeedfulError(f"orders is {self.orders}: give a multiple of four.")
        if not 0 <= self.exact <= 16:
            raise HeedfulError(f"exact is {self.exact}: give 0 to 16 words.")


@dataclass(frozen=True)
class Importance:
    """The importance of every word, and the same from each half of the draws; exact ones have
    equal halves. Zero where no word is."""

    words: Scores
    halves: tuple[Scores, Scores]
    mask: Bool[Tensor, "b w"]


def importance(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    operator: str | Operator,
    target: Target = probability,
    draws: Draws = Draws(),
    memory: Memory | None = None,
) -> Importance:
    """How much every word of every text matters to the explained quantity."""
    mask = word_mask(batch.texts["a"])
    count = mask.sum(-1)
    place = _places(mask, batch.ids, draws)
    short = count <= draws.exact
    gone = _prefixes(place, mask)
    size = max((2**n for n in count[short].tolist()), default=0)
    every = _subsets(mask & short[:, None], size)
    gone = torch.cat([gone & ~short[:, None, None], every], 1)
    values = answers(model, batch, (target, label), gone, operator, memory).value
    at = gone.shape[1] - size
    drawn = _changes(values[:, :at].reshape(*place.shape[:2], -1), place, mask)
    exact = _exact(values[:, at:], mask, short)
    one, other = (torch.where(short[:, None], exact, part.mean(1)) for part in drawn.chunk(2, 1))
    return Importance((one + other) / 2, (one, other), mask)


def measured(
    explanations: Mapping[str, Scores], found: Importance
) -> dict[str, dict[str, Float[Tensor, " b"]]]:
    """Every measure of every explanation."""
    return {
        name: {
            "importance_captured": captured(scores, found.words, found.mask),
            "importance_tau": kendall_tau_b(
                scores.abs().to(found.words), found.words, found.mask
            ).tau,
        }
        for name, scores in explanations.items()
    }


def oracle(found: Importance) -> Float[Tensor, " b"]:
    """What the best order captures: by each half of the draws in turn, scored on the other. With
    few draws that is too little, never too much; on exact texts it is the optimum."""
    one, other = found.halves
    return (captured(one, other, found.mask) + captured(other, one, found.mask)) / 2


def captured(scores: Scores, importance: Scores, mask: Bool[Tensor, "b w"]) -> Float[Tensor, " b"]:
    """The share of all importance that the k top words hold, averaged over k = 1 … n − 1.

    A word in place r (0 is the top) is among the top k for a share 1 − r/(n − 1) of these k, and
    tied words share their places: so a random order captures 0.5 and the reverse order captures
    what is left. NaN where there are fewer than two words, or none of them matters.
    """
    scores = scores.abs().to(importance)
    place = _mean_place(tied_ranks(scores, mask, TOLERANCE[torch.float32]), mask)
    count = mask.sum(-1)
    weight = 1 - place / (count - 1).clamp(min=1)[:, None]
    held = torch.where(mask, importance * weight, 0.0).sum(-1)
    total = importance.sum(-1)
    known = (count > 1) & (total > 0) & (scores.isfinite() | ~mask).all(-1)
    return torch.where(known, held / total.clamp(min=torch.finfo(total.dtype).tiny), torch.nan)


def _mean_place(ranks: Int[Tensor, "b w"], mask: Bool[Tensor, "b w"]) -> Float[Tensor, "b w"]:
    """Places from the top; equal ranks share the mean of theirs."""
    size = torch.zeros(len(mask), mask.shape[1] + 1, dtype=torch.float64, device=mask.device)
    size = size.scatter_add(1, ranks.clamp(min=0), mask.double())
    above = size.flip(-1).cumsum(-1).flip(-1) - size  # how many have a higher rank
    chosen = ranks.clamp(min=0)
    return above.gather(1, chosen) + (size.gather(1, chosen) - 1) / 2


def _places(mask: Bool[Tensor, "b w"], ids: tuple[str, ...], draws: Draws) -> Int[Tensor, "b o w"]:
    """The place of every word in every order, its text's other words only; then what is no word."""
    keys = example_keys(draws.seed, ids, "importance").to(mask.device)
    chance = keyed_uniform(keys, (draws.orders // 2, mask.shape[1]))
    forth = chance.masked_fill(~mask[:, None], torch.inf).argsort(-1).argsort(-1)
    last = mask.sum(-1)[:, None, None] - 1
    back = torch.where(mask[:, None], last - forth, forth)
    return torch.stack([forth, back], 2).flatten(1, 2)


def _prefixes(place: Tensor, mask: Tensor) -> Bool[Tensor, "b m w"]:
    """For every order, the sets of its first 0, 1, … words."""
    steps = torch.arange(mask.shape[1] + 1, device=mask.device)[:, None]
    return ((place[:, :, None] < steps) & mask[:, None, None]).flatten(1, 2)


def _changes(values: Float[Tensor, "b o s"], place: Tensor, mask: Tensor) -> Float[Tensor, "b o w"]:
    """By how much the output moved when each word went."""
    moved = values.diff(dim=-1).abs().gather(2, place)
    return moved.masked_fill(~mask[:, None], 0.0)


def _subsets(mask: Bool[Tensor, "b w"], size: int) -> Bool[Tensor, "b m w"]:
    """The sets of a text's words by number: bit i is its i-th word."""
    bit = (mask.long().cumsum(-1) - 1).clamp(min=0, max=62)
    number = torch.arange(size, device=mask.device)[:, None]
    return ((number >> bit[:, None]) & 1).bool() & mask[:, None]


def _exact(values: Float[Tensor, "b m"], mask: Tensor, short: Tensor) -> Scores:
    """The expectation over all orders: a set of k of n words comes before a word in
    k! (n − k − 1)! of n! orders."""
    found = torch.zeros(mask.shape, dtype=values.dtype, device=values.device)
    for row in short.nonzero().flatten().tolist():
        words = mask[row].nonzero().flatten()
        n = len(words)
        if not n:
            continue
        sets = torch.arange(2**n, device=values.device)
        members = ((sets[:, None] >> torch.arange(n, device=values.device)) & 1).bool()
        weight = torch.tensor(
            [factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)],
            dtype=values.dtype,
            device=values.device,
        )
        for bit, word in enumerate(words.tolist()):
            before = sets[~members[:, bit]]
            change = (values[row, before] - values[row, before | (1 << bit)]).abs()
            found[row, word] = (weight[members[before].sum(-1)] * change).sum()
    return found
