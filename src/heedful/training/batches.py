"""Batches of like length in a random order that depends on seed and epoch alone."""

from __future__ import annotations

import numpy as np

_POOL = 50  # batches sorted by length together: little padding, still a random order


def bucketed(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Index arrays that cover every example once."""
    generator = np.random.default_rng([seed, epoch])
    order = generator.permutation(len(lengths))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), _POOL * batch_size):
        pool = order[start : start + _POOL * batch_size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]
