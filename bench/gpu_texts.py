"""Made-up texts of any length, for times alone: random words, nothing in them to learn.

What a step costs depends on lengths, the vocabulary and the classes, so these are given; texts
are made in memory, and neither a data folder nor a store is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.corpora import Side, Split
from heedful.specs import END, START

RESERVED = 4
SENTENCE = 18  # words


@dataclass(frozen=True)
class Shape:
    """Of a corpus: `length` and `second` are the mean tokens of its two sides, lengths are
    spread evenly from half of that to half as much again."""

    kind: str = "single"
    length: int = 19
    second: int = 0
    vocabulary: int = 14_000
    dimension: int = 300
    classes: int = 2
    marks: tuple[str, ...] = ()  # rationales, impermissible, alignment


@dataclass(frozen=True)
class Made:
    """What training and probes ask of a corpus."""

    shape: Shape
    splits: Mapping[str, Split]

    @property
    def task(self) -> str:
        return "generation" if self.shape.kind == "generation" else "classification"

    @property
    def classes(self) -> int:
        shape = self.shape
        return shape.vocabulary if shape.kind == "generation" else shape.classes

    @property
    def words(self) -> list[str]:
        return [f"w{number}" for number in range(self.shape.vocabulary)]

    @cached_property
    def vectors(self) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        return torch.randn(self.shape.vocabulary, self.shape.dimension, generator=generator) * 0.1

    def split(self, name: str) -> Split:
        return self.splits[name]


def made(shape: Shape, sizes: Mapping[str, int]) -> Made:
    """So many texts of each split."""
    return Made(shape, {name: _split(shape, name, size) for name, size in sizes.items()})


def _split(shape: Shape, name: str, size: int) -> Split:
    draw = np.random.default_rng([len(name), size, shape.length])
    sides = {"a": _side(draw, shape.length, size, shape)}
    if shape.kind != "single":
        sides["b"] = _side(draw, shape.second or shape.length, size, shape)
    labels = torch.arange(size) % max(2, shape.classes)
    ids = tuple(f"{name}-{number}" for number in range(size))
    if shape.kind != "generation":
        return Split(ids, labels, sides)
    pairs = zip(sides["a"].tokens, sides["b"].tokens, strict=True)
    aligned: list[NDArray[np.int32] | None] = [_links(a, b) for a, b in pairs]
    given = aligned if "alignment" in shape.marks else None
    return Split(ids, torch.zeros(size, dtype=torch.long), sides, alignments=given)


def _links(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.int32]:
    both = np.arange(min(len(a), len(b)) - 2, dtype=np.int32)
    return np.stack([both, both], -1)


def _side(draw: np.random.Generator, length: int, size: int, shape: Shape) -> Side:
    low, high = max(2, length // 2), max(3, length + length // 2)
    lengths = draw.integers(low, high + 1, size)
    rows = [draw.integers(RESERVED, shape.vocabulary, n, dtype=np.int32) for n in lengths]
    tokens = [np.array([START, *row, END], dtype=np.int32) for row in rows]
    words = [[f"w{number}" for number in row] for row in rows]
    ends = [np.cumsum([len(word) + 1 for word in some], dtype=np.int32) - 1 for some in words]
    starts = [end - [len(word) for word in some] for end, some in zip(ends, words, strict=True)]
    forbidden: list[NDArray[np.bool_] | None] = [draw.random(n) < 0.1 for n in lengths]
    marked: list[NDArray[np.bool_] | None] = [draw.random(n) < 0.1 for n in lengths]
    return Side(
        tokens,
        [" ".join(some) for some in words],
        [start.astype(np.int32) for start in starts],
        ends,
        marked if "rationales" in shape.marks else [None] * size,
        [np.arange(n, dtype=np.int32) // SENTENCE for n in lengths],
        impermissible=forbidden if "impermissible" in shape.marks else None,
    )
