"""The importance of words from its definition, over every order, and what an order finds of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from math import factorial, log2
from statistics import mean


def importance(value: Callable[[frozenset[int]], float], n: int) -> list[float]:
    """The mean over all orders of |change| when a word goes; `value` is of the words gone."""
    out = [0.0] * n
    for order in permutations(range(n)):
        for place, word in enumerate(order):
            before = frozenset(order[:place])
            out[word] += abs(value(before) - value(before | {word})) / factorial(n)
    return out


def captured(scores: Sequence[float], importance: Sequence[float], discount: str) -> float:
    """The mean over all orders of tied words of what each order holds, less what a random order
    holds, as a share of what is then possible."""
    n = len(scores)
    orders = [
        order
        for order in permutations(range(n))
        if all(abs(scores[a]) >= abs(scores[b]) for a, b in pairwise(order))
    ]
    chance = mean(held(order, importance, discount) for order in permutations(range(n)))
    own = mean(held(order, importance, discount) for order in orders)
    return (own - chance) / (1 - chance)


def held(order: Sequence[int], importance: Sequence[float], discount: str) -> float:
    """The share of all importance in an order's top k words, averaged over k; or its gain."""
    n, total = len(order), sum(importance)
    if discount == "logarithmic":
        return sum(importance[w] / log2(place + 2) for place, w in enumerate(order)) / total
    weights = {k: 1 / (k * (k + 1)) if discount == "early" else 1.0 for k in range(1, n)}
    shares = {k: sum(importance[word] for word in order[:k]) / total for k in weights}
    return sum(weights[k] * shares[k] for k in weights) / sum(weights.values())
