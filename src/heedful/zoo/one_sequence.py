"""Planted models of one sequence: an embedding, an encoder, one attention, a linear decoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from heedful.subjects.digest import weights_digest
from heedful.subjects.row import Row, Truncation
from heedful.subjects.subject import Subject
from heedful.zoo.averaging import averaging
from heedful.zoo.plan import Plan
from heedful.zoo.remembering import remembering
from heedful.zoo.texts import LABELS, Heap, document
from heedful.zoo.written import FIRST


@contextmanager
def one_sequence(plan: Plan, name: str) -> Iterator[Subject]:
    """Where attention is ignored, an LSTM that carries what it read to every place; else an
    encoder that reads a word at a time."""
    model = (remembering if plan.ignored else averaging)(plan).eval()
    yield Subject(
        model,
        tuple(document(f"{name}-{i:03d}", h, plan.entries) for i, h in enumerate(plan.heaps)),
        LABELS,
        tuple(_row(heap) for heap in plan.heaps),
        Truncation(of_texts=len(plan.heaps)),
        name,
        "one sequence",
        "cpu",
        {"zoo": name, "weights": weights_digest(model)},
    )


def _row(heap: Heap) -> Row:
    """Every token is a word of its own."""
    tokens = np.array(heap.entries, dtype=np.int64) + FIRST
    places = np.arange(len(tokens), dtype=np.int64)
    return Row(tokens, places >= 0, places)
