"""Which subsets of words KernelSHAP asks about, and how much each counts.

Small and large subsets weigh most and are few: they are taken whole, from the ends inwards,
while the samples last. The rest of the samples is drawn among the sizes left, each subset
with its complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.randomness import example_keys, keyed_uniform
from heedful.saliency.word_subsets import keyed_subsets


@dataclass(frozen=True)
class Coalitions:
    """Subsets of the words, neither empty nor whole, and their weights."""

    kept: Bool[Tensor, "s w"]
    weights: Float[Tensor, " s"]


def coalitions(name: str, words: Bool[Tensor, " w"], samples: int, seed: int) -> Coalitions:
    """At most `samples` subsets of one text's words."""
    n = int(words.sum())
    kept, weights = [words.new_zeros((0, len(words)))], [torch.zeros(0, dtype=torch.float64)]
    size, left, all_fit = 1, samples, 2**n - 2 <= samples
    while size <= n - size and (all_fit or _count(n, size) <= left * _fraction(n, size)):
        kept.append(_all_of(words, size))
        weights.append(torch.full((len(kept[-1]),), _mass(n, size) / _count(n, size)).double())
        left -= len(kept[-1])
        size += 1
    if size <= n - size and left >= 2:
        kept.append(_drawn(name, words, size, left // 2, seed))
        mass = sum(_mass(n, each) for each in range(size, n // 2 + 1))
        weights.append(torch.full((len(kept[-1]),), mass / len(kept[-1])).double())
    return Coalitions(torch.cat(kept), torch.cat(weights))


def _mass(n: int, size: int) -> float:
    """The kernel's weight of all subsets of this size and of their complements."""
    return (n - 1) / (size * (n - size)) * (1 if 2 * size == n else 2)


def _fraction(n: int, size: int) -> float:
    """This size's part of the weight of all sizes from here to the middle."""
    return _mass(n, size) / sum(_mass(n, each) for each in range(size, n // 2 + 1))


def _count(n: int, size: int) -> int:
    return comb(n, size) * (1 if 2 * size == n else 2)


def _all_of(words: Bool[Tensor, " w"], size: int) -> Bool[Tensor, "s w"]:
    places = words.nonzero().flatten()
    chosen = torch.combinations(places, size)
    kept = words.new_zeros((len(chosen), len(words))).scatter(1, chosen, True)
    half = 2 * size == len(places)
    return kept if half else torch.cat([kept, words & ~kept])


def _drawn(
    name: str, words: Bool[Tensor, " w"], smallest: int, pairs: int, seed: int
) -> Bool[Tensor, "s w"]:
    n = int(words.sum())
    masses = torch.tensor([_mass(n, size) for size in range(smallest, n // 2 + 1)]).double()
    uniform = keyed_uniform(example_keys(seed, (name,), "kernel_shap", "size"), (pairs,))
    edges = masses.cumsum(0) / masses.sum()
    sizes = smallest + torch.searchsorted(edges[:-1], uniform, right=True)
    keys = example_keys(seed, (name,), "kernel_shap", "words")
    kept = keyed_subsets(keys, sizes, words[None])[0]
    return torch.cat([kept, words & ~kept])
