"""Examples before anything is tokenised, and the splits they are in, cut by a hash of their ids."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from heedful.errors import HeedfulError, listed, short
from heedful.hashing import stable_hash
from heedful.specs import PrepareSpec

SPLITS = ("train", "dev", "test")

GivenTokens = list[tuple[str, int, int]]
Spans = list[tuple[int, int]]
Links = list[tuple[tuple[int, int], tuple[int, int]]]
"""Pairs of a span of side a and a span of side b that translate each other."""


@dataclass(frozen=True)
class Example:
    """One instance. `texts` is keyed by side: `a` is attended, `b` is the question, the
    hypothesis, the aspect or the target.

    `split` is `train`, `dev`, `test`, or empty where `prepare` is to cut it. `tokens` are
    given as (token, start, end) and `rationales` as [start, end), both in characters of
    the side's text, so a rationale survives any tokenisation; so does an `alignment`. Where
    only some classes can be the answer, `candidates` are their numbers. A corpus for
    generation has no classes; its labels are 0. What attention should not be seen on
    (pruthi2020) is `impermissible`, spans like rationales. Examples of one `cluster` (a
    document, a story) are not independent of each other. An example may be one that people
    changed until its label did: it then names the example that it `revises`.
    """

    id: str
    split: str
    texts: Mapping[str, str]
    label: int
    tokens: Mapping[str, GivenTokens] | None = None
    rationales: Mapping[str, Spans] | None = None
    candidates: tuple[int, ...] | None = None
    alignment: Links | None = None
    impermissible: Mapping[str, Spans] | None = None
    cluster: str | None = None
    revises: str | None = None


@dataclass(frozen=True)
class RawCorpus:
    """All examples of a corpus and the digests of the files they came from.

    `subset` says that the files are only a part of the published data, so that numbers are
    not comparable with published ones; `note` says which part. `stands_for` names the
    published corpus that this one is only a substitute for. `dropped` counts what the reader
    itself left out, by reason.
    """

    labels: tuple[str, ...]
    examples: list[Example]
    sources: Mapping[str, str]
    subset: bool = False
    note: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    task: str = "classification"
    stands_for: str = ""


@dataclass(frozen=True)
class Record:
    """One example of an audit, as it was read. `labels` are names: one of them for a classifier,
    any number for a multi-label model, None where the data has no labels. Where only some labels
    can be the answer, `candidates` are their names. Words and rationales are spans by side; `parts`
    are the spans of the documents that the first text was joined of. A model that writes is asked
    for an `answer`, maybe `instead` of another one. A prediction may be about a part of the first
    text, at a `position`: its [start, end) characters, or the number of its word, from 1. A text
    that is another one's revision names the record that it `revises`."""

    id: str
    texts: Mapping[str, str]
    labels: tuple[str, ...] | None
    words: Mapping[str, tuple[tuple[int, int], ...]] | None = None
    rationales: Mapping[str, tuple[tuple[int, int], ...]] | None = None
    cluster: str | None = None
    candidates: tuple[str, ...] | None = None
    parts: tuple[tuple[int, int], ...] | None = None
    answer: str | None = None
    instead: str | None = None
    position: int | tuple[int, int] | None = None
    revises: str | None = None


def join_tokens(tokens: Sequence[str]) -> tuple[str, GivenTokens]:
    """The text, with blanks between its tokens, and these as (token, start, end)."""
    placed: GivenTokens = []
    start = 0
    for token in tokens:
        placed.append((token, start, start + len(token)))
        start += len(token) + 1
    return " ".join(tokens), placed


def matched_tokens(pattern: str, text: str) -> GivenTokens:
    """What a pattern finds, each with its place: `\\S+` are the words between blanks."""
    return [(found.group(), *found.span()) for found in re.finditer(pattern, text)]


def marked_spans(tokens: GivenTokens, marked: Sequence[bool]) -> Spans | None:
    """The spans of the marked tokens; None where none is: nothing was explained."""
    spans = [(start, end) for (_, start, end), mark in zip(tokens, marked, strict=True) if mark]
    return spans or None


def class_names(values: Iterable[Any], where: str) -> tuple[str, ...]:
    """The class names of a column, sorted. A CSV file's "10" and a JSON file's 10 are the same
    class."""
    names = {label_name(value, where, row) for row, value in enumerate(values, 1)}
    if len(names) < 2:
        only = ", ".join(sorted(names)) or "none"
        raise HeedfulError(
            f"{where} has fewer than two classes ({only}), so there is nothing to learn: give "
            f"texts of at least two."
        )
    return sorted_names(names)


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, sorted: numerically where all are whole numbers, else as strings."""
    names = set(names)
    return tuple(sorted(names, key=int if all(map(_is_whole, names)) else None))


def numbered(names: Iterable[str]) -> dict[str, int]:
    """The class of each name: a file may have very many."""
    return {name: number for number, name in enumerate(names)}


def label_name(value: Any, where: str, row: int) -> str:
    """One label as a string; a missing one is an error, never a class of its own."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if missing or not str(value).strip() or str(value).strip().lower() == "nan":
        raise HeedfulError(f"row {row} of {where} has no label: fill it in or leave the row out.")
    if not isinstance(value, (str, int, float)):
        raise HeedfulError(
            f"row {row} of {where} has a {type(value).__name__} for a label: give a text or a "
            f"number."
        )
    return str(value).strip()


def index_of(name: str, names: Mapping[str, int], where: str) -> int:
    """The class of a name; `names` are numbered, `where` is such as "row 3 of a.csv"."""
    if name not in names:
        raise HeedfulError(f"{where} has label {short(name)!r}: choose one of {listed(names)}.")
    return names[name]


def _is_whole(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(name)) == name


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
    """At most `limit` examples of each split, a random sample in the order of the corpus. An
    example comes with its revisions."""
    if spec.limit is None:
        return list(examples)
    if spec.limit < 1:
        raise HeedfulError(f"limit is {spec.limit}: give at least 1 example per split, or none.")
    kept: set[str] = set()
    for split in SPLITS:
        families: dict[str, list[str]] = {}
        for example in (each for each in examples if each.split == split):
            families.setdefault(example.revises or example.id, []).append(example.id)
        chosen = pick(list(families), len(families), spec.seed, "limit")
        kept.update(islice(chain.from_iterable(map(families.__getitem__, chosen)), spec.limit))
    return [example for example in examples if example.id in kept]


def pick(ids: Sequence[str], count: int, seed: int, purpose: str) -> list[str]:
    """`count` of the ids, the same ones whatever their order."""
    return sorted(ids, key=lambda name: (stable_hash(seed, purpose, name), name))[:count]
