"""Heads against known relations, one text, one head and one word at a time (Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def attended(
    weights: Tensor, numbers: Sequence[int], query: int, choices: Sequence[int]
) -> int | None:
    """The most attended word: the sum over its tokens, the mean over those of the query."""
    rows = [t for t, n in enumerate(numbers) if n == query]
    best, most = None, 0.0
    for word in choices:
        tokens = [t for t, n in enumerate(numbers) if n == word]
        total = sum(float(weights[row, t]) for row in rows for t in tokens) / len(rows)
        if total > most:
            best, most = word, total
    return best
