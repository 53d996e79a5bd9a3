"""Texts in random order, some at a time: whatever has been measured is a random sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heedful.randomness import stable_hash
from heedful.subjects.subject import Subject

WAVE = 32
TOKENS_AT_ONCE = 4096


def waves(subject: Subject, seed: int, wave: int = WAVE) -> Iterator[list[NDArray[np.int64]]]:
    """Each wave is a list of batches of texts of like length."""
    keys = [stable_hash(seed, "wave", each.id) for each in subject.documents]
    order = np.argsort(np.array(keys, dtype=np.float64), kind="stable")
    for start in range(0, len(order), wave):
        yield list(_batches(subject, order[start : start + wave]))


def _batches(subject: Subject, indices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Shortest first, as many as fit."""
    lengths = np.array([len(subject.rows[i]) for i in indices])
    order = indices[np.argsort(lengths, kind="stable")]
    lengths = np.sort(lengths, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        full = end == len(order) or (end - start + 1) * lengths[end] > TOKENS_AT_ONCE
        if full:
            yield order[start:end]
            start = end
