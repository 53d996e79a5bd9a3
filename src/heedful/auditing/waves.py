"""Texts in random order, some at a time: whatever has been measured is a random sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heedful.randomness import stable_hash
from heedful.subjects import Subject, groups

WAVE = 32
LARGE = 256
MANY = 1024
FIRST = 2
TOKENS_AT_ONCE = 4096


def waves(
    subject: Subject, seed: int, wave: int | None = None, first: int = WAVE
) -> Iterator[NDArray[np.int64]]:
    """`first` texts, then each time as many as came before, at most `wave`: where time is
    short, little is begun before it is known how long a text takes. Where it is not and there
    are many texts, more of them at a time take less."""
    order = _order(subject, seed)
    large = first == WAVE and len(order) > MANY
    most = wave or (LARGE if large else WAVE)
    start = 0
    while start < len(order):
        end = start + min(most, max(first, start))
        yield order[start:end]
        start = end


def first_texts(subject: Subject, seed: int, most: int) -> frozenset[str]:
    """Those that are measured first, however many are in the end."""
    return frozenset(subject.ids[int(i)] for i in _order(subject, seed)[:most])


def _order(subject: Subject, seed: int) -> NDArray[np.int64]:
    keys = (stable_hash(seed, "wave", name) for name in subject.ids)
    return np.argsort(np.fromiter(keys, dtype=np.float64, count=len(subject)), kind="stable")


def batches(subject: Subject, wave: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Texts of like length, as many as fit. So only whole waves are random samples."""
    if not len(wave):
        return
    lengths = subject.lengths[wave]
    for part in groups(lengths, TOKENS_AT_ONCE, len(lengths)):
        yield wave[part]
