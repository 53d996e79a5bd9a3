"""From the tokens of one model to the words that all share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heedful.report.examples.cell import Numbers


def summed(scores: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    """Scores of a word's tokens are added up; NaN where the model read none of them."""
    places, known = np.asarray(numbers, dtype=np.int64), np.isfinite(scores)
    total = np.zeros(width)
    np.add.at(total, places[known], scores[known])
    there = np.zeros(width, dtype=bool)
    there[places[known]] = True
    return np.where(there, total, np.nan)


def averaged(logits: Numbers, weights: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    """`[words, logits]`: a word's tokens keep their proportions when the word is moved, so what
    it says is their mean by weight; evenly where it has no weight. So Σ weight · logit over
    words is that over tokens."""
    columns = [_averaged(each, weights, numbers, width) for each in logits.T]
    return np.stack(columns, axis=1)


def _averaged(values: Numbers, weights: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    known = np.isfinite(values) & np.isfinite(weights)
    share = np.where(known, weights, np.nan)
    total = summed(share, numbers, width)
    weighted = summed(share * values, numbers, width)
    even = summed(np.where(known, values, np.nan), numbers, width)
    count = summed(np.where(known, 1.0, np.nan), numbers, width)
    mean: Numbers = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), even / count)
    return mean
