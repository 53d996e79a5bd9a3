"""A document as a model's tokens, and what did not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.subjects.document import Document
from heedful.types import Text


@dataclass(frozen=True)
class Row:
    """One text, special tokens included; the columns of `heedful.types.Text`. `beside` is the
    other text of a pair that a model reads apart: it is given, and not on trial. Where only
    some of the model's classes can be the answer, `candidates` are their numbers."""

    tokens: NDArray[np.int64]
    mask: NDArray[np.bool_]
    words: NDArray[np.int64]
    segments: NDArray[np.int64] | None = None
    sentences: NDArray[np.int64] | None = None
    beside: Row | None = None
    candidates: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def cut(self, limit: int) -> Row:
        """The first tokens alone."""
        cut: list[Any] = [
            None if column is None else column[:limit]
            for column in (self.tokens, self.mask, self.words, self.segments, self.sentences)
        ]
        return replace(Row(*cut), beside=self.beside, candidates=self.candidates)


@dataclass(frozen=True)
class Truncation:
    """How many texts were cut, and how many of all words were lost by it."""

    texts: int = 0
    words: int = 0
    of_texts: int = 0
    of_words: int = 0

    @property
    def share(self) -> float:
        return self.words / self.of_words if self.of_words else 0.0

    @property
    def sentence(self) -> str:
        """Empty where nothing was cut."""
        if not self.texts:
            return ""
        return (
            f"{self.texts} of {self.of_texts} texts were longer than the model reads and were "
            f"cut: {self.share:.1%} of all words were lost."
        )


def truncation(texts_read: Iterable[tuple[Row, Document, bool]]) -> Truncation:
    """Of each text whether it was cut. A word is lost where its text was cut and none of its
    tokens is left."""
    texts = words = of_texts = of_words = 0
    for row, document, short in texts_read:
        of_texts += 1
        of_words += document.length
        if short:
            texts += 1
            words += document.length - len(np.unique(row.words[row.words >= 0]))
    return Truncation(texts, words, of_texts, of_words)


def pad(rows: Sequence[Row]) -> Text:
    """Rows side by side, padded on the right."""
    lengths = torch.tensor([len(row) for row in rows])
    segments = [row.segments for row in rows if row.segments is not None]
    sentences = [row.sentences for row in rows if row.sentences is not None]
    return Text(
        _padded([row.tokens for row in rows], 0),
        lengths,
        _padded([row.mask for row in rows], False),
        words=_padded([row.words for row in rows], -1),
        segments=_padded(segments, 0) if segments else None,
        sentences=_padded(sentences, -1) if sentences else None,
    )


def _padded(columns: Sequence[NDArray[np.generic]], value: int) -> torch.Tensor:
    tensors = [torch.from_numpy(column) for column in columns]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value)
