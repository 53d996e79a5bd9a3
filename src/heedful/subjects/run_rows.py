"""Documents to the tokens of a model Heedful trained: every word is one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from heedful.corpora import SPECIALS, Prepared, Vocabulary, normalise, sentence_numbers
from heedful.specs import UNKNOWN
from heedful.subjects.codecs import ROWS
from heedful.subjects.document import Document, Span
from heedful.subjects.row import Row
from heedful.subjects.shelf import Shelf

MANY_UNKNOWN = 0.1
_normalised = lru_cache(maxsize=1 << 16)(normalise)


def encode_texts(documents: Iterable[Document], prepared: Prepared, limit: int) -> Shelf[Row]:
    """One row per document, with the words of a corpus."""
    vocabulary, labels = _vocabulary(prepared), prepared.labels
    rows = (_among(_row_of(each, vocabulary, limit), each, labels) for each in documents)
    return Shelf.of(rows, ROWS)


def compared(
    rows: Iterable[Row], documents: Iterable[Document]
) -> Iterator[tuple[Row, Document, bool]]:
    """Every word is one token, so a text was cut where it has fewer tokens than words."""
    for row, document in zip(rows, documents, strict=True):
        yield row, document, bool(row.mask.sum() < document.length)


def unknown_note(rows: Iterable[Row]) -> tuple[str, ...]:
    words = unknown = 0
    for row in rows:
        words += int(row.mask.sum())
        unknown += int((row.tokens[row.mask] == UNKNOWN).sum())
    share = unknown / words if words else 0.0
    if share <= MANY_UNKNOWN:
        return ()
    return (f"{share:.0%} of all words are unknown to the model and look the same to it.",)


def _vocabulary(prepared: Prepared) -> Vocabulary:
    words = tuple(prepared.words)
    ids = {word: i for i, word in enumerate(words) if i >= len(SPECIALS)}
    return Vocabulary(words, (0,) * len(words), ids)


def _row_of(document: Document, vocabulary: Vocabulary, limit: int) -> Row:
    """Side a, with side b beside it where there is one."""
    sides = {
        side: _row(document.texts[side], document.words[side], vocabulary, limit)
        for side in document.texts
    }
    return replace(sides["a"], beside=sides.get("b"))


def _among(row: Row, document: Document, labels: tuple[str, ...]) -> Row:
    """With the classes that can be the answer, where the corpus says which."""
    if document.candidates is None:
        return row
    places = {name: place for place, name in enumerate(labels)}
    known = tuple(places[name] for name in document.candidates if name in places)
    return replace(row, candidates=known)


def _row(text: str, spans: tuple[Span, ...], vocabulary: Vocabulary, limit: int) -> Row:
    """Start, the words, end; every word is one token."""
    spans = spans[: limit - 2]
    tokens = vocabulary.encode([_normalised(text[a:b]) for a, b in spans]).astype(np.int64)
    words = np.arange(-1, len(tokens) - 1, dtype=np.int64)
    words[-1] = -1
    starts = np.array([start for start, _ in spans], dtype=np.int32)
    sentences = np.full(len(tokens), -1, dtype=np.int64)
    sentences[1:-1] = sentence_numbers(text, starts)
    return Row(tokens, words >= 0, words, sentences=sentences)
