"""Tiny corpora of two sides, as probes are given them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch

from heedful.data import Side, Split, at_a_quarter
from heedful.experiments import Evidence
from heedful.types import Model
from tiny_pairs import WORDS, rows_of, tiny_pairs

VOCABULARY = ["", "?", "", "", *(f"w{i}" for i in range(4, WORDS))]
SOURCES, TARGETS = (4, 1, 6, 3, 5, 2), (3, 5, 1, 4, 8, 2)


def side_of(rows: list[list[int]], sentences: int = 1) -> Side:
    """Tokens between start and end; the text is their words."""
    tokens = [np.array(row, dtype=np.int32) for row in rows]
    real = [np.arange(len(row) - 2, dtype=np.int32) for row in rows]
    texts = [" ".join(VOCABULARY[i % WORDS] for i in row[1:-1]) for row in rows]
    numbers = [(place % sentences).astype(np.int32) for place in real]
    numbers = [np.sort(each) for each in numbers]
    return Side(tokens, texts, real, real, [None] * len(rows), numbers)


def tiny_translations(
    sources: Iterable[int] = SOURCES, targets: Iterable[int] = TARGETS, seed: int = 0
) -> Split:
    batch = tiny_pairs(sources, targets, seed)
    sides = {side: side_of(rows_of(batch, side)) for side in "ab"}
    return Split(batch.ids, batch.labels, sides)


def classified(split: Split, classes: int, candidates: bool = False) -> Split:
    """The same texts with labels, and with some classes that cannot be the answer."""
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(0, classes, (len(split),), generator=generator)
    allowed = torch.rand(len(split), classes, generator=generator) < 0.5
    allowed[torch.arange(len(split)), labels] = True
    return replace(split, labels=labels, candidates=allowed if candidates else None)


def writing_evidence(model: Model, split: Split, batch_size: int = 64, **others: Model) -> Evidence:
    return Evidence(
        {"base": model, **others},
        at_a_quarter(split),
        5,
        batch_size=batch_size,
        task="generation",
        whole=split,
        words=VOCABULARY,
    )
