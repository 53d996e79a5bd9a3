"""Interactions of two players, from their definitions; `value` is of the players that are there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from math import factorial

Value = Callable[[frozenset[int]], float]


def mixed(value: Value, i: int, j: int, beside: frozenset[int]) -> float:
    """What i and j add together beyond what each adds alone."""
    return value(beside | {i, j}) - value(beside | {i}) - value(beside | {j}) + value(beside)


def shapley_interaction(value: Value, i: int, j: int, n: int) -> float:
    """The mean over orders in which the two stand together, of what they add to those before."""
    players = [player for player in range(n) if player not in (i, j)]
    total = 0.0
    for order in permutations([*players, -1]):
        before = frozenset(order[: order.index(-1)])
        total += mixed(value, i, j, before)
    return total / factorial(n - 1)


def share(value: Value, n: int) -> float:
    """Σ |I| / (Σ |I| + Σ |d|) over all pairs and all words."""
    every = frozenset(range(n))
    alone = [abs(value(every) - value(every - {i})) for i in range(n)]
    both = {(i, j): abs(mixed(value, i, j, every - {i, j})) for i, j in combinations(range(n), 2)}
    return sum(both.values()) / (sum(both.values()) + sum(alone))
