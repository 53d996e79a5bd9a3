"""The importance of words from its definition, over every order, and what an order finds of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations
from math import factorial


def importance(value: Callable[[frozenset[int]], float], n: int) -> list[float]:
    """The mean over all orders of |change| when a word goes; `value` is of the words gone."""
    out = [0.0] * n
    for order in permutations(range(n)):
        for place, word in enumerate(order):
            before = frozenset(order[:place])
            out[word] += abs(value(before) - value(before | {word})) / factorial(n)
    return out


def captured(scores: Sequence[float], importance: Sequence[float]) -> float:
    """The mean over all orders of tied words, and over k, of what the top k words hold."""
    n = len(scores)
    orders = [
        order
        for order in permutations(range(n))
        if all(abs(scores[a]) >= abs(scores[b]) for a, b in pairwise(order))
    ]
    shares = [
        sum(importance[word] for word in order[:k]) / sum(importance)
        for order in orders
        for k in range(1, n)
    ]
    return sum(shares) / len(shares)
