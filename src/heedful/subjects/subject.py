"""A model on trial with its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models.output import class_logits
from heedful.subjects.document import Document
from heedful.subjects.row import Row, Truncation, pad
from heedful.types import Batch, Model

Indices = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class Subject:
    """A model, and documents it can be asked about.

    A document's label is a place in `label_names`, the model's own classes. `key` holds what
    results depend on (digests of weights, tokens and data): it may be hashed. `notes` are
    sentences a reader should see.
    """

    model: Model
    documents: tuple[Document, ...]
    label_names: tuple[str, ...]
    rows: tuple[Row, ...]
    truncated: Truncation
    source: str
    family: str
    device: str
    key: Mapping[str, Any]
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def labelled(self) -> bool:
        """Whether every document has a label, so that predictions can be right or wrong."""
        return all(document.label is not None for document in self.documents)

    def encode(self, indices: Indices) -> Batch:
        """Some of the documents as a batch on the subject's device; labels are −1 where
        there is none."""
        chosen = [int(index) for index in indices]
        labels = [self.documents[i].label for i in chosen]
        numbers = torch.tensor([-1 if label is None else label for label in labels])
        ids = tuple(self.documents[i].id for i in chosen)
        rows = [self.rows[i] for i in chosen]
        beside = [row.beside for row in rows if row.beside is not None]
        texts = {"a": pad(rows), **({"b": pad(beside)} if beside else {})}
        return Batch(ids, texts, numbers, self._allowed(rows)).to(self.device)

    def _allowed(self, rows: Sequence[Row]) -> Bool[Tensor, "b c"] | None:
        """The classes that can be the answer; all of them where none are named."""
        if all(row.candidates is None for row in rows):
            return None
        allowed = torch.zeros(len(rows), len(self.label_names), dtype=torch.bool)
        for place, row in enumerate(rows):
            allowed[place, slice(None) if row.candidates is None else list(row.candidates)] = True
        return allowed

    def batches(
        self, tokens_at_once: int = 4096, batch_size: int = 64
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """All documents, shortest first so that little is padded, with their indices: at most
        `batch_size` of them and `tokens_at_once` padded tokens, but at least one."""
        if batch_size < 1 or tokens_at_once < 1:
            raise HeedfulError("batch_size and tokens_at_once must be at least 1.")
        for indices in groups([len(row) for row in self.rows], tokens_at_once, batch_size):
            yield indices, self.encode(indices)


def predicted(subject: Subject) -> NDArray[np.int64]:
    """The class the model gives each document, in their order."""
    out = np.zeros(len(subject), dtype=np.int64)
    with torch.no_grad():
        for indices, batch in subject.batches():
            out[indices] = class_logits(subject.model(batch).logits).argmax(-1).cpu().numpy()
    return out


def groups(lengths: Sequence[int], tokens: int, size: int) -> Iterator[NDArray[np.int64]]:
    widths = np.array(lengths, dtype=np.int64)
    order = np.argsort(widths, kind="stable")
    start = 0
    for end, index in enumerate(order):
        count = end - start
        if count and (count == size or (count + 1) * widths[index] > tokens):
            yield order[start:end]
            start = end
    yield order[start:]
