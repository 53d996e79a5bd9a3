"""Shapley values from their definition, over every order of the players."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from math import factorial


def shapley(value: Callable[[frozenset[int]], float], n: int) -> list[float]:
    """The mean over all orders of what a player adds to those before it."""
    out = [0.0] * n
    seen: dict[frozenset[int], float] = {}

    def known(players: frozenset[int]) -> float:
        if players not in seen:
            seen[players] = value(players)
        return seen[players]

    for order in permutations(range(n)):
        for place, player in enumerate(order):
            before = frozenset(order[:place])
            out[player] += (known(before | {player}) - known(before)) / factorial(n)
    return out
