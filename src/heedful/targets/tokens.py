"""Documents to a model's tokens, each with the number of the word it belongs to.

Tokens are matched to words by characters: how a tokenizer marks sub-words (`##`, `Ġ`, `▁`)
differs, where a token stands in the text does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.models import tokenizing
from heedful.targets.disk_list import ROWS, DiskList, DiskListWriter
from heedful.targets.document import Document, Row, Span, Truncation, truncation
from heedful.targets.options import Prompt

AT_ONCE = 1000  # texts a tokenizer is given together
CHARACTERS_AT_ONCE = 1 << 22  # of them, or one text


def encode_documents(
    tokenizer: Any, documents: Sequence[Document], limit: int, prompt: Prompt = Prompt()
) -> tuple[DiskList[Row], Truncation]:
    """One row per document of at most `limit` tokens; what did not fit is counted."""
    filling, cut = DiskListWriter(ROWS), list[bool]()
    for some in _together(documents):
        for row, short in _encoded(tokenizer, some, limit, prompt):
            filling.add(row)
            cut.append(short)
    rows = filling.done()
    return rows, truncation(zip(rows, documents, cut, strict=True))


def _together(documents: Sequence[Document]) -> Iterator[list[Document]]:
    some, size = list[Document](), 0
    for document in documents:
        length = sum(map(len, document.texts.values()))
        if some and (len(some) == AT_ONCE or size + length > CHARACTERS_AT_ONCE):
            yield some
            some, size = [], 0
        some.append(document)
        size += length
    if some:
        yield some


def _encoded(
    tokenizer: Any, documents: Sequence[Document], limit: int, prompt: Prompt
) -> Iterator[tuple[Row, bool]]:
    """Each document's row, and whether it was cut."""
    texts = [prompt.around(document.texts["a"]) for document in documents]
    pairs = [document.texts["b"] for document in documents] if "b" in documents[0].texts else None
    cuts = pairs is not None or not prompt.after
    with tokenizing(tokenizer.name_or_path), _as_it_was(tokenizer.backend_tokenizer):
        found = tokenizer(texts, pairs, truncation=cuts, max_length=limit)
    segments = "token_type_ids" in tokenizer.model_input_names
    for document, encoding in zip(documents, found.encodings, strict=True):
        short = bool(encoding.overflowing)
        if len(encoding.ids) > limit:
            encoding, short = _shortened(tokenizer, document.texts["a"], limit, prompt), True
        yield _row(encoding, document, prompt, segments), short


def words_of(tokens: Sequence[Span], words: Sequence[Span]) -> NDArray[np.int64]:
    """The word each token overlaps most, the first of equals; −1 for tokens that overlap
    none. Words are in order and apart."""
    spans = np.array(tokens, dtype=np.int64).reshape(-1, 2)
    known = np.array(words, dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(known[:, 1], spans[:, 0], side="right")
    behind = np.searchsorted(known[:, 0], spans[:, 1], side="left")
    found = np.where((behind > first) & (spans[:, 1] > spans[:, 0]), first, -1)
    for token in np.flatnonzero((found >= 0) & (behind - first > 1)):
        near = known[first[token] : behind[token]]
        overlap = np.minimum(near[:, 1], spans[token, 1]) - np.maximum(near[:, 0], spans[token, 0])
        found[token] = first[token] + int(overlap.argmax())
    return found


def _row(encoding: Any, document: Document, prompt: Prompt, segments: bool) -> Row:
    """Special tokens belong to no text (`sequence_ids` is None) and are masked out."""
    sides = np.array([-1 if side is None else side for side in encoding.sequence_ids])
    offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2) - len(prompt.before)
    mask = sides >= 0
    if prompt != Prompt():
        size = len(document.texts["a"])
        mask &= (offsets[:, 0] < size) & (offsets[:, 1] > 0)
    numbers = np.full(len(sides), -1, dtype=np.int64)
    before = 0
    for side, spans in enumerate(document.words.values()):
        here = mask & (sides == side)
        found = words_of(offsets[here].tolist(), spans)
        numbers[here] = np.where(found >= 0, found + before, -1)
        before += len(spans)
    types = np.array(encoding.type_ids, dtype=np.int64) if segments else None
    return Row(np.array(encoding.ids, dtype=np.int64), mask, numbers, types)


def _shortened(tokenizer: Any, text: str, limit: int, prompt: Prompt) -> Any:
    """The longest beginning of the text that fits with all of its prompt: cutting tokens off
    the end would cut off the question."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(_one(tokenizer, prompt.around(text[:middle])).ids) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return _one(tokenizer, prompt.around(text[:low]))


def _one(tokenizer: Any, text: str) -> Any:
    with tokenizing(tokenizer.name_or_path):
        return tokenizer([text]).encodings[0]


@contextmanager
def _as_it_was(raw: Any) -> Iterator[None]:
    """A call sets truncation and padding of a tokenizer that may be somebody else's."""
    truncates, pads = raw.truncation, raw.padding
    try:
        yield
    finally:
        raw.no_truncation() if truncates is None else raw.enable_truncation(**truncates)
        raw.no_padding() if pads is None else raw.enable_padding(**pads)


def unseen(rows: Iterable[Row]) -> list[int]:
    """The rows none of whose tokens belongs to a word."""
    return [index for index, row in enumerate(rows) if not (row.words >= 0).any()]
