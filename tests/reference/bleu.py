"""BLEU of Papineni et al. 2002 on lists of words, with the `exp` smoothing of Chen and Cherry
2014 (their third): the k-th precision that is zero counts as 1/2^k of one n-gram."""

from __future__ import annotations

import math


def row(hypothesis: list[str], reference: list[str]) -> list[int]:
    """Lengths, clipped matches and n-grams of orders 1 to 4, by looking for each n-gram."""
    right, all_ = [], []
    for n in (1, 2, 3, 4):
        own = _grams(hypothesis, n)
        left = _grams(reference, n)
        matches = 0
        for gram in own:
            if gram in left:
                left.remove(gram)
                matches += 1
        right.append(matches)
        all_.append(len(own))
    return [len(hypothesis), len(reference), *right, *all_]


def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    rows = [row(one, other) for one, other in zip(hypotheses, references, strict=True)]
    length, wanted, *counts = (sum(column) for column in zip(*rows, strict=True))
    product, zeros = 1.0, 0
    if not any(counts[:4]):
        return 0.0
    for right, all_ in zip(counts[:4], counts[4:], strict=True):
        if all_ == 0:
            return 0.0
        if right == 0:
            zeros += 1
        product *= (right or 1 / 2**zeros) / all_
    brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
    return 100 * brevity * product**0.25


def _grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
