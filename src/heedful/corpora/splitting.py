"""Cut splits and samples by a seeded hash of the example's id, never by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heedful.corpora.example import Example
from heedful.errors import HeedfulError
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
