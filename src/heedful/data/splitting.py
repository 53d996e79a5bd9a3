"""Which examples are kept and in which split: cut by a hash of the id, filtered by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heedful.data.example import Example
from heedful.errors import HeedfulError, unknown_name
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

SPLITS = ("train", "dev", "test")


def cut_splits(examples: Sequence[Example], spec: PrepareSpec) -> list[Example]:
    """Give every example a split.

    Examples without one are cut into test and train first; where there is no dev split, it
    is `dev_fraction` of train. So 0.2 and 0.2 make 64/16/20. A cluster stays together.
    """
    for name, fraction in (("dev", spec.dev_fraction), ("test", spec.test_fraction)):
        if not 0 <= fraction < 1:
            raise HeedfulError(f"{name}_fraction is {fraction}: give a number from 0 to below 1.")
    split = {example.id: example.split for example in examples}
    loose = [example for example in examples if example.split == ""]
    test = set(_pick_whole(loose, spec.test_fraction, spec.seed, "test"))
    split.update({each.id: "test" if each.id in test else "train" for each in loose})
    if "dev" not in split.values():
        train = [example for example in examples if split[example.id] == "train"]
        split.update(dict.fromkeys(_pick_whole(train, spec.dev_fraction, spec.seed, "dev"), "dev"))
    return [replace(example, split=split[example.id]) for example in examples]


def _pick_whole(examples: Sequence[Example], fraction: float, seed: int, purpose: str) -> list[str]:
    """The ids of that share of the examples, or a little more: clusters are taken whole."""
    members: dict[str, list[str]] = {}
    for example in examples:
        members.setdefault(example.cluster or example.id, []).append(example.id)
    wanted, chosen = round(len(examples) * fraction), list[str]()
    for cluster in pick(list(members), len(members), seed, purpose):
        if len(chosen) >= wanted:
            break
        chosen += members[cluster]
    return chosen


def limit_splits(examples: Sequence[Example], spec: PrepareSpec) -> list[Example]:
    """At most `limit` examples of each split, a random sample in the order of the corpus."""
    if spec.limit is None:
        return list(examples)
    if spec.limit < 1:
        raise HeedfulError(f"limit is {spec.limit}: give at least 1 example per split, or none.")
    kept: set[str] = set()
    for split in SPLITS:
        names = [example.id for example in examples if example.split == split]
        kept.update(pick(names, spec.limit, spec.seed, "limit"))
    return [example for example in examples if example.id in kept]


def pick(ids: Sequence[str], count: int, seed: int, purpose: str) -> list[str]:
    """`count` of the ids, the same ones whatever their order."""
    return sorted(ids, key=lambda name: (stable_hash(seed, purpose, name), name))[:count]


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
