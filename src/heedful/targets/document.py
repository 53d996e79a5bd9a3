"""Documents, their words as spans of characters, and a model's tokens of them.

Tokens are matched to words by characters: tokenizers mark sub-words differently (`##`, `Ġ`, `▁`),
but the place of a token in the text is the same for all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.data import sentence_starts
from heedful.errors import HeedfulError
from heedful.types import Answer, Text
from heedful.units import DOCUMENT, LINE, PARAGRAPH, SENTENCE

Span = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """One example. `words` are [start, end) spans in characters of each side's text, in
    order; words are numbered over side a, then b, and `rationale` has a mark for each.

    Documents of one `cluster` are resampled together: they share a text. Where only some
    labels can be the answer, `candidates` are their names. Where longer units than words are on
    trial, `words` are those, and `pieces` the words that they were grouped of. A model that writes
    is asked for an `answer`, maybe `instead` of another one. Where a prediction is about a part of
    side a, `asked` is its [start, end) span: its characters keep their place and are not on trial.
    A revision of another document names the one that it `revises`.
    """

    id: str
    texts: Mapping[str, str]
    words: Mapping[str, tuple[Span, ...]]
    label: int | None
    rationale: tuple[bool, ...] | None
    cluster: str
    candidates: tuple[str, ...] | None = None
    pieces: Mapping[str, tuple[Span, ...]] | None = None
    answer: str | None = None
    instead: str | None = None
    asked: Span | None = None
    revises: str | None = None

    @property
    def atoms(self) -> Mapping[str, tuple[Span, ...]]:
        """The words, also where longer units are on trial."""
        return self.words if self.pieces is None else self.pieces

    @property
    def length(self) -> int:
        """The number of words of all sides."""
        return sum(len(spans) for spans in self.words.values())

    @property
    def about(self) -> tuple[int, ...]:
        """The numbers of the words that the prediction is about."""
        marks = () if self.asked is None else inside(self.words["a"], [self.asked])
        return tuple(number for number, mark in enumerate(marks) if mark)

    @property
    def surface(self) -> tuple[str, ...]:
        """The words as they stand in the texts, side a first."""
        return tuple(
            self.texts[side][start:end]
            for side, spans in self.words.items()
            for start, end in spans
        )


@dataclass(frozen=True)
class Row:
    """One text, special tokens included; the columns of `heedful.types.Text`. `beside` is the
    other text of a pair that a model reads apart: it is given, and not on trial. Where only
    some of the model's classes can be the answer, `candidates` are their numbers. `answer` and
    `instead` are those of `heedful.types.Answer`; `target` is what a decoder has written before
    the answer's last token; `read_at` is that of `heedful.types.Text`."""

    tokens: NDArray[np.int64]
    mask: NDArray[np.bool_]
    words: NDArray[np.int64]
    segments: NDArray[np.int64] | None = None
    sentences: NDArray[np.int64] | None = None
    beside: Row | None = None
    candidates: tuple[int, ...] | None = None
    answer: NDArray[np.int64] | None = None
    instead: NDArray[np.int64] | None = None
    target: NDArray[np.int64] | None = None
    read_at: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def cut(self, limit: int) -> Row:
        """The first tokens alone."""
        columns = ("tokens", "mask", "words", "segments", "sentences", "read_at")
        cut: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[:limit]
            for name in columns
        }
        return replace(self, **cut, answer=None, instead=None, target=None)

    def followed_by(self, tokens: NDArray[np.int64]) -> Row:
        """With tokens after it that are part of no word."""
        more = len(tokens)
        return replace(
            self,
            tokens=np.concatenate([self.tokens, tokens]),
            mask=np.pad(self.mask, (0, more)),
            words=np.pad(self.words, (0, more), constant_values=-1),
            segments=None if self.segments is None else np.pad(self.segments, (0, more)),
            read_at=None if self.read_at is None else np.pad(self.read_at, (0, more)),
        )


def by_token(row: Row) -> list[Row]:
    """A row that is asked for an answer, once for each of its tokens after those before it."""
    if row.answer is None:
        return []
    ends = range(1 - len(row.answer), 1)
    rows = []
    for end, token in zip(ends, row.answer, strict=True):
        target = None if row.target is None else row.target[: len(row.target) + end]
        part = row if target is not None else row.cut(len(row) + end)
        asked = np.array([token], dtype=np.int64)
        rows.append(replace(part, answer=asked, instead=row.instead, target=target))
    return rows


def framed(tokens: Sequence[int] | NDArray[np.int32]) -> Row:
    """Tokens that are a word each, between a start and an end token that are none."""
    words = np.arange(-1, len(tokens) - 1, dtype=np.int64)
    words[-1] = -1
    return Row(np.array(tokens, dtype=np.int64), words >= 0, words)


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
            left = {*row.words[row.words >= 0].tolist(), *document.about}
            words += document.length - len(left)
    return Truncation(texts, words, of_texts, of_words)


def pad(rows: Sequence[Row]) -> Text:
    """Rows side by side, padded on the right."""
    lengths = torch.tensor([len(row) for row in rows])
    segments = [row.segments for row in rows if row.segments is not None]
    sentences = [row.sentences for row in rows if row.sentences is not None]
    places = [row.read_at for row in rows if row.read_at is not None]
    return Text(
        _padded([row.tokens for row in rows], 0),
        lengths,
        _padded([row.mask for row in rows], False),
        words=_padded([row.words for row in rows], -1),
        segments=_padded(segments, 0) if segments else None,
        sentences=_padded(sentences, -1) if sentences else None,
        read_at=_padded(places, 0) if places else None,
    )


def answer_of(rows: Sequence[Row]) -> Answer | None:
    """What rows are asked for, side by side; all of them or none are."""
    tokens = [row.answer for row in rows if row.answer is not None]
    others = [row.instead for row in rows if row.instead is not None]
    if not tokens:
        return None
    instead = torch.from_numpy(np.concatenate(others)) if others else None
    return Answer(_padded(tokens, -1), instead)


def target_of(rows: Sequence[Row]) -> Text | None:
    """What decoders have written, side by side: no words of a text."""
    written = [row.target for row in rows if row.target is not None]
    if not written:
        return None
    return pad([Row(tokens, tokens < 0, np.full_like(tokens, -1)) for tokens in written])


def _padded(columns: Sequence[NDArray[np.generic]], value: int) -> torch.Tensor:
    tensors = [torch.from_numpy(column) for column in columns]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value)


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


def inside(words: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Which words overlap one of the spans. Words are in order and apart."""
    starts, ends = np.array(words, dtype=np.int64).reshape(-1, 2).T
    first, last = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    begun, over = np.searchsorted(ends, first, "right"), np.searchsorted(starts, last, "left")
    steps = np.zeros(len(words) + 1, dtype=np.int64)
    np.add.at(steps, begun, 1)
    np.add.at(steps, np.maximum(begun, over), -1)
    return [bool(mark) for mark in steps.cumsum()[:-1] > 0]


_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\W{_HAN}]+"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_PIECE = re.compile(rf"[{_HAN}]|{_FLAG}|{_LETTERS}(?:['’‐‑-]{_LETTERS})*|[^\s\x00-\x1f\x7f]")
_JOINER = "\u200d"
_SKIN = range(0x1F3FB, 0x1F400)


def split_words(text: str) -> tuple[Span, ...]:
    """Runs of letters and digits, with apostrophes and hyphens inside them; every other
    visible character by itself. Each ideograph is a word, an emoji with its modifiers is
    one. Scripts without spaces and ideographs (Thai) stay whole between spaces.
    """
    spans = (match.span() for match in _PIECE.finditer(text))
    return tuple(spans if text.isascii() else _glued(text, spans))


def _glued(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Combining marks and emoji modifiers go with what they stand on; what cannot be seen
    (a zero-width space) is no word."""
    start, end = -1, -1
    for left, right in spans:
        if left == end and _belongs(text, start, left):
            end = right
            continue
        if _seen(text, start, end):
            yield start, end
        start, end = left, right
    if _seen(text, start, end):
        yield start, end


def _belongs(text: str, start: int, place: int) -> bool:
    """Whether the character at `place` goes on with the word that began at `start`."""
    before, here = text[place - 1], text[place]
    if _is_mark(here) or before == _JOINER:
        return True
    return _is_mark(before) and text[start].isalpha() and here.isalnum()


def _is_mark(character: str) -> bool:
    mark = unicodedata.category(character)[0] == "M" or ord(character) in _SKIN
    return mark or character == _JOINER


_LINE, _BLANK_LINE = re.compile(r"\n"), re.compile(r"\n[^\S\n]*\n")


def grouped(
    text: str, words: Sequence[Span], unit: str, parts: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """Words as longer units, each from its first word to its last, so that no word is in two.

    A sentence ends where `heedful.data.sentence_starts` begins another one; a line at a line
    break; a paragraph at a blank line. The documents of a text are its `parts`, or it is one:
    words that separate them are in none.
    """
    starts = [start for start, _ in parts]
    if unit == SENTENCE:
        starts = sentence_starts(text)
    elif unit != DOCUMENT:
        pattern = {LINE: _LINE, PARAGRAPH: _BLANK_LINE}[unit]
        starts = [match.end() for match in pattern.finditer(text)]
    held = words if unit != DOCUMENT or not parts else compress(words, inside(words, parts))
    spans = np.array(list(held), dtype=np.int64).reshape(-1, 2)
    number = np.searchsorted(np.array(starts, dtype=np.int64), spans[:, 0], side="right")
    first = np.flatnonzero(np.diff(number, prepend=-1))
    last = np.append(first[1:], len(spans)) - 1 if len(first) else first
    pairs = zip(spans[first, 0].tolist(), spans[last, 1].tolist(), strict=True)
    return tuple(pairs)


def apart(text: str, tokens: Iterable[Span]) -> tuple[Span, ...]:
    """Tokens as spans of units: without blanks around them, and none of blanks alone. Tokens that
    share a character are one unit, as the pieces of an emoji."""
    spans = list[Span]()
    for start, end in tokens:
        token = text[max(start, 0) : max(end, 0)]
        left = max(start, 0) + len(token) - len(token.lstrip())
        right = left + len(token.strip())
        if spans and left < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(right, spans[-1][1]))
        elif left < right:
            spans.append((left, right))
    return tuple(spans)


def check_spans(text: str, spans: Sequence[Span]) -> None:
    """Refuse spans that overlap, or leave a word of the text out."""
    places = [0, *(place for span in spans for place in span), len(text)]
    if places != sorted(places) or any(start >= end for start, end in spans):
        raise HeedfulError(
            "the spans of words overlap, are out of order, or leave the text: give [start, end) "
            "pairs of characters, one after the other."
        )
    ends = np.array([end for _, end in spans], dtype=np.int64)
    for start, end in split_words(text):
        if not any(map(str.isalnum, text[start:end])):
            continue
        place = int(np.searchsorted(ends, start, side="right"))
        if place == len(spans) or spans[place][0] >= end:
            raise HeedfulError(
                f"no span covers {text[start:end]!r} at character {start}: every word of a text "
                f"must be in one."
            )


def on_trial(document: Document) -> Document:
    """Only the words of side a are on trial; side b is given."""
    words = {"a": document.words["a"]}
    marks = document.rationale
    return replace(
        document, words=words, rationale=None if marks is None else marks[: len(words["a"])]
    )


def _seen(text: str, start: int, end: int) -> bool:
    return start >= 0 and any(
        unicodedata.category(each) not in ("Cf", "Cc") for each in text[start:end]
    )
