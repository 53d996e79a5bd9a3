"""What two words do together beyond what each does alone.

No map of single words can show it. The interaction of two words is the mixed difference

    I_ij = f(x) − f(x∖i) − f(x∖j) + f(x∖{i, j}),

so the change without both is the sum of the changes without each, less I_ij: an OR has −1 (either
word is enough), an AND has 1. Shapley interactions average the mixed difference over what else is
there (Grabisch and Roubens 1999); they are exact for short texts.

Pairs are named by the product of two words' scores, or by how much the tokens of the two attend to
each other in a Transformer's layers. Which find the pairs that interact?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import SHARE, SIGNED, Measure
from heedful.errors import HeedfulError
from heedful.experiments.evidence import ForwardBatch
from heedful.experiments.importance import Draws, captured, importance
from heedful.experiments.oracle import all_subsets
from heedful.perturbations import WordRemoval
from heedful.words import word_mask, word_numbers

PAIRED = 8
"""The words of a text that matter most, whose pairs are looked at."""
BETWEEN, ADJACENT = "attention:between", "adjacent"
"""Two ways to name pairs beside products of scores: by the attention between two words' tokens, and
the baseline, by how near they stand."""
INTERACTION_MEASURES = {
    "interaction_share": Measure(
        "share of what words do, alone and in pairs, that pairs do beyond single words",
        range=SHARE,
        formula="Σ_{i<j} |I_ij| / (Σ_{i<j} |I_ij| + Σ_i |d_i|) over the words that matter most; "
        "d_i = f(x) − f(x∖i)",
        papers=("grabisch1999",),
    ),
    "interaction_shapley": Measure(
        "the same of Shapley interactions and Shapley values, of short texts",
        range=SHARE,
        formula="Σ_{i<j} |SII_ij| / (Σ_{i<j} |SII_ij| + Σ_i |φ_i|)",
        papers=("grabisch1999", "lundberg2017"),
    ),
    "interaction_captured": Measure(
        "interaction among the top pairs, fewer of them counting more (0: a random order)",
        True,
        range=SIGNED,
        formula="as importance_captured, of pairs and |I_ij|",
        papers=("grabisch1999",),
    ),
}


@dataclass(frozen=True)
class Interactions:
    """The top words of each text, the highest first (−1 where there are fewer), what happens
    without each (`alone`), and their pairs' interactions: symmetric, NaN on the diagonal and where
    there is no pair."""

    words: Int[Tensor, "b k"]
    values: Float[Tensor, "b k k"]
    alone: Float[Tensor, "b k"]

    @property
    def pairs(self) -> tuple[Int[Tensor, " p"], Int[Tensor, " p"]]:
        """The places of both words of each pair, each pair once."""
        k = self.words.shape[1]
        first, second = torch.triu_indices(k, k, 1, device=self.words.device)
        return first, second


def interactions(removal: WordRemoval, scores: Float[Tensor, "b w"], top: int = 5) -> Interactions:
    """f(x) − f(x∖i) − f(x∖j) + f(x∖{i, j}): positive where i and j help each other."""
    words = top_words(scores, removal.mask, top)
    alone = words[..., None] == torch.arange(scores.shape[1], device=words.device)
    k = words.shape[1]
    first, second = torch.triu_indices(k, k, 1, device=words.device)
    gone = torch.cat([torch.zeros_like(alone[:, :1]), alone, alone[:, first] | alone[:, second]], 1)
    values = removal.answers(gone).value
    whole, less, pairs = values[:, :1], values[:, 1 : k + 1], values[:, k + 1 :]
    together = whole - less[:, first] - less[:, second] + pairs
    missing = (words[:, first] < 0) | (words[:, second] < 0)
    pairwise = torch.full((len(words), k, k), torch.nan, dtype=together.dtype, device=words.device)
    pairwise[:, first, second] = together.masked_fill(missing, torch.nan)
    pairwise[:, second, first] = pairwise[:, first, second]
    return Interactions(words, pairwise, (whole - less).masked_fill(words < 0, torch.nan))


def top_words(
    scores: Float[Tensor, "b w"], there: Bool[Tensor, "b w"], top: int
) -> Int[Tensor, "b k"]:
    """Words by descending score, the earlier first where they tie."""
    if top < 2:
        raise HeedfulError(f"interactions need pairs, and top is {top}: choose 2 or more.")
    shown = scores.masked_fill(~there, float("-inf"))
    order = shown.argsort(dim=-1, descending=True, stable=True)
    place = torch.arange(min(top, scores.shape[1]), device=scores.device)
    return order[:, : len(place)].masked_fill(place >= there.sum(-1, keepdim=True), -1)


def interaction_share(found: Interactions) -> Float[Tensor, " b"]:
    """How much of what words do, single words miss. NaN where nothing happens."""
    first, second = found.pairs
    both = found.values[:, first, second].abs().nan_to_num().sum(-1)
    return both / (both + found.alone.abs().nan_to_num().sum(-1))


def shapley_share(removal: WordRemoval, shapley: Float[Tensor, "b w"], most: int) -> Tensor:
    """The same over all sets of words, of texts of two to `most` words; NaN for others."""
    known = all_subsets(removal, most)
    share = torch.full_like(shapley[:, 0], torch.nan)
    for n, rows in known.by_length:
        if n < 2:
            continue
        values = known.value[rows, : 1 << n]
        sets = torch.arange(1 << n, device=values.device)
        size = sum((sets >> bit) & 1 for bit in range(n))
        weight = [factorial(k) * factorial(n - k - 2) / factorial(n - 1) for k in range(n - 1)]
        weights = values.new_tensor([*weight, 0.0, 0.0])[size]
        total = torch.zeros_like(values[:, 0])
        for i in range(n):
            for j in range(i):
                one, two = 1 << i, 1 << j
                rest = sets[(sets & (one | two)) == 0]
                mixed = values[:, rest] - values[:, rest | one] - values[:, rest | two]
                mixed = mixed + values[:, rest | one | two]
                total = total + (weights[rest] * mixed).sum(-1).abs()
        share[rows] = total / (total + shapley[rows].abs().sum(-1))
    return share


def interactions_found(
    found: Interactions, named: Mapping[str, Float[Tensor, "b w w"] | Float[Tensor, "b w"]]
) -> dict[str, Float[Tensor, " b"]]:
    """How much of the interaction the pairs hold that come first by each name's scores: of pairs,
    or of words, whose product it is."""
    first, second = found.pairs
    words = found.words.clamp_min(0)
    one, other = words[:, first], words[:, second]
    there = (found.words[:, first] >= 0) & (found.words[:, second] >= 0)
    size = found.values[:, first, second].abs().nan_to_num()
    shares = {}
    for name, scores in named.items():
        if scores.ndim == 2:
            paired = scores.abs().gather(1, one) * scores.abs().gather(1, other)
        else:
            paired = scores.flatten(1).gather(1, one * scores.shape[2] + other)
        shares[name] = captured(paired, size, there)
    return shares


def between_words(forward: ForwardBatch) -> dict[str, Float[Tensor, "b w w"]]:
    """How near words stand; and, where tokens of the text attend to each other, how much they do:
    the mean over layers and heads, of both directions. A word's tokens attend as they do on average
    and are attended to as they are together."""
    text = forward.batch.texts["a"]
    numbers, mask = word_numbers(text), word_mask(text)
    place = torch.arange(mask.shape[1], dtype=torch.float64, device=mask.device)
    near = 1 / (1 + (place[:, None] - place).abs())
    found = {ADJACENT: near.expand(len(mask), -1, -1)}
    width = text.tokens.shape[1]
    layers = [
        weights.double().mean(1)
        for site in forward.model.sites
        if site.keys == site.queries == "a" and site.level == "tokens"
        for weights in (forward.trace.weights[site.name],)
        if weights.shape[-2:] == (width, width)
    ]
    if layers:
        member = (numbers[..., None] == torch.arange(mask.shape[1], device=mask.device)).double()
        size = member.sum(1).clamp_min(1)
        weights = torch.stack(layers).mean(0)
        words = member.mT @ weights @ member / size[..., None]
        found[BETWEEN] = words + words.mT
    return found


def interacting(
    removal: WordRemoval, draws: Draws, least: float
) -> tuple[Interactions, dict[str, Float[Tensor, " b"]]]:
    """The pairs of the words that matter most, and how much single words miss of what they do. NaN
    where all words together matter less than `least`."""
    own = importance(removal, draws)
    found = interactions(removal, own.words, PAIRED)
    enough = (own.words.sum(-1) >= least) & (own.mask.sum(-1) > 1)
    shares = {
        "interaction_share": interaction_share(found),
        "interaction_shapley": shapley_share(removal, own.shapley, draws.exact),
    }
    return found, {name: torch.where(enough, value, torch.nan) for name, value in shares.items()}
