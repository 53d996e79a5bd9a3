"""Planted models of one sequence: an embedding, an encoder, one attention, a linear decoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from heedful.benchmark.compiled.averaging import averaging
from heedful.benchmark.compiled.plan import Plan
from heedful.benchmark.compiled.remembering import remembering
from heedful.benchmark.compiled.subject import Planted, subject
from heedful.benchmark.compiled.texts import Heap
from heedful.benchmark.compiled.written import FIRST
from heedful.subjects import Row, Subject, weights_digest


@contextmanager
def one_sequence(plan: Plan, name: str) -> Iterator[Subject]:
    """Where attention is ignored, an LSTM that carries what it read to every place; else an
    encoder that reads a word at a time."""
    model = (remembering if plan.ignored else averaging)(plan).eval()
    rows = tuple(_row(heap) for heap in plan.heaps)
    yield subject(plan, name, Planted(model, weights_digest(model), rows, "one sequence"))


def _row(heap: Heap) -> Row:
    """Every token is a word of its own."""
    tokens = np.array(heap.entries, dtype=np.int64) + FIRST
    places = np.arange(len(tokens), dtype=np.int64)
    return Row(tokens, places >= 0, places)
