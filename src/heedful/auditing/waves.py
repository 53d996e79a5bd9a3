"""Texts in random order, some at a time: whatever has been measured is a random sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heedful.randomness import stable_hash
from heedful.subjects.subject import Subject, groups

WAVE = 32
TOKENS_AT_ONCE = 4096


def waves(subject: Subject, seed: int, wave: int = WAVE) -> Iterator[list[NDArray[np.int64]]]:
    """Each wave is a list of batches of texts of like length."""
    keys = [stable_hash(seed, "wave", each.id) for each in subject.documents]
    order = np.argsort(np.array(keys, dtype=np.float64), kind="stable")
    for start in range(0, len(order), wave):
        yield list(_batches(subject, order[start : start + wave]))


def _batches(subject: Subject, indices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Texts of like length, as many as fit."""
    lengths = [len(subject.rows[i]) for i in indices]
    for part in groups(lengths, TOKENS_AT_ONCE, len(lengths)):
        yield indices[part]
