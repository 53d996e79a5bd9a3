"""Attention between words, from attention between tokens, as Clark et al. (2019, section 4.1) say:
to a split word it is the sum over its tokens, from a split word the mean over its tokens."""

from __future__ import annotations

Weights = list[list[float]]


def between_words(weights: Weights, queries: list[list[int]], keys: list[list[int]]) -> Weights:
    """`queries` and `keys` are the places of each word's tokens."""
    return [[_from_to(weights, query, key) for key in keys] for query in queries]


def _from_to(weights: Weights, query: list[int], key: list[int]) -> float:
    total = 0.0
    for row in query:
        for column in key:
            total += weights[row][column]
    return total / len(query)
