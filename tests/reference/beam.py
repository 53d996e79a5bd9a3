"""Search for one source: everything there is to write, and a beam kept as a list."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

END = 3
LogP = Callable[[tuple[int, ...]], list[float]]
"""From what is written so far to log-probabilities of every next token."""


def best_of_all(log_p: LogP, words: list[int], longest: int, penalty: float) -> list[int]:
    """The best of all targets that end within `longest` tokens, their end counted."""
    best, score = [], -math.inf
    for length in range(longest):
        for target in product(words, repeat=length):
            whole = (*target, END)
            total = math.fsum(log_p(whole[:i])[token] for i, token in enumerate(whole))
            if total / len(whole) ** penalty > score:
                best, score = list(target), total / len(whole) ** penalty
    return best


def beam(log_p: LogP, width: int, longest: int, penalty: float) -> list[int]:
    """The `width` best that go on; of those that end, the ones among the step's `width` best."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for step in range(1, longest + 1):
        grown = [
            (score + more, (*target, token))
            for score, target in live
            for token, more in enumerate(log_p(target))
            if more > -math.inf
        ]
        grown.sort(key=lambda each: -each[0])
        for score, target in grown[:width]:
            if target[-1] == END:
                ended.append((score / step**penalty, target[:-1]))
        live = [each for each in grown if each[1][-1] != END][:width]
        if len(ended) >= width:
            break
    return list(max(ended)[1]) if ended else list(live[0][1])
