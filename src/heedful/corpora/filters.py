"""Length filters: what was let through and what was not is counted, by split and filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.errors import unknown_name
from heedful.specs import PrepareSpec

COUNTINGS = ("inclusive", "authors")


@dataclass(frozen=True)
class Count:
    """How many examples of a split met a filter and how many it turned away."""

    filter: str
    split: str
    kept: int
    dropped: int


@dataclass(frozen=True)
class Bound:
    """One named, inclusive bound on the number of real tokens."""

    name: str
    low: float = -np.inf
    high: float = np.inf


def filter_lengths(
    lengths: NDArray[np.int64], splits: Sequence[str], spec: PrepareSpec
) -> tuple[NDArray[np.bool_], list[Count]]:
    """Which examples stay. Bounds apply one after the other, so no example counts twice."""
    if spec.counting not in COUNTINGS:
        raise unknown_name("counting", spec.counting, list(COUNTINGS))
    keep = np.ones(len(lengths), dtype=bool)
    counts: list[Count] = []
    names = np.array(splits, dtype=object)
    for split in dict.fromkeys(splits):
        inside = names == split
        for bound in _bounds(lengths[inside], spec):
            before = inside & keep
            keep &= ~inside | ((lengths >= bound.low) & (lengths <= bound.high))
            after = int((inside & keep).sum())
            counts.append(Count(bound.name, split, after, int(before.sum()) - after))
    return keep, counts


def _bounds(lengths: NDArray[np.int64], spec: PrepareSpec) -> list[Bound]:
    empty = Bound("not empty", low=1)
    if spec.counting == "authors":
        return [empty, *_authors_bounds(lengths, spec)]
    bounds = [empty]
    if spec.min_length > 1:
        bounds.append(Bound(f"at least {spec.min_length} tokens", low=spec.min_length))
    if spec.max_length is not None:
        bounds.append(Bound(f"at most {spec.max_length} tokens", high=spec.max_length))
    return bounds


def _authors_bounds(lengths: NDArray[np.int64], spec: PrepareSpec) -> list[Bound]:
    """jain2019's released filter: strict on both sides, and a bound that was not set is the
    split's own shortest or longest text, which is thereby lost (protocols, section 10)."""
    low = spec.min_length if spec.min_length > 1 else int(lengths.min())
    high = spec.max_length if spec.max_length is not None else int(lengths.max())
    return [
        Bound(f"more than {low} tokens (authors)", low=low + 1),
        Bound(f"fewer than {high} tokens (authors)", high=high - 1),
    ]
