"""What one annotator is shown at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

Span = tuple[int, int]
ORIGINAL, PERMUTED, PLAIN = "original", "permuted", "plain"


@dataclass(frozen=True)
class Item:
    """`words` are [start, end) spans in characters, numbered over side a, then b; `top` are
    numbers of words, the heaviest first. `shown` says whose weights chose them, and `correct`
    whether the prediction under these weights is right; neither is ever sent to an annotator,
    nor is the `label`."""

    number: int
    example: str
    shown: str
    texts: Mapping[str, str]
    words: Mapping[str, tuple[Span, ...]]
    top: tuple[int, ...]
    prediction: str
    label: str | None
    correct: bool | None

    @property
    def length(self) -> int:
        return sum(len(spans) for spans in self.words.values())

    @property
    def asks_label(self) -> bool:
        """Whether reasons for the label are asked for, which may then be shown; else the
        question is about the prediction."""
        return self.shown == PLAIN and self.label is not None

    @property
    def explained(self) -> str:
        """The class that is asked about."""
        return str(self.label) if self.asks_label else self.prediction

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    def spans(self, chosen: tuple[int, ...]) -> dict[str, list[Span]]:
        """Chosen words as spans of characters by side; neighbours are one span."""
        found: dict[str, list[Span]] = {}
        first = 0
        for side, words in self.words.items():
            inside = [number - first for number in sorted(chosen)]
            inside = [number for number in inside if 0 <= number < len(words)]
            if inside:
                found[side] = list(_joined(inside, words))
            first += len(words)
        return found

    def pieces(self) -> dict[str, list[dict[str, Any]]]:
        """Each side cut into words and what is between them, so that a browser, which counts
        characters in another way, need not count any."""
        found, first = {}, 0
        for side, text in self.texts.items():
            words = self.words.get(side, ())
            found[side] = list(_pieces(text, words, first))
            first += len(words)
        return found


def item_of(text: str) -> Item:
    """The inverse of `to_json`."""
    known = json.loads(text)
    known["words"] = {
        side: tuple((start, end) for start, end in spans) for side, spans in known["words"].items()
    }
    return Item(**{**known, "top": tuple(known["top"])})


def _joined(inside: list[int], words: tuple[Span, ...]) -> Iterator[Span]:
    start = inside[0]
    for here, after in pairwise([*inside, len(words) + 1]):
        if after != here + 1:
            yield words[start][0], words[here][1]
            start = after


def _pieces(text: str, words: tuple[Span, ...], first: int) -> Iterator[dict[str, Any]]:
    end = 0
    for number, (start, stop) in enumerate(words, first):
        start = max(start, end)
        if start > end:
            yield {"text": text[end:start]}
        if stop > start:
            yield {"text": text[start:stop], "word": number}
        end = max(end, stop)
    if end < len(text):
        yield {"text": text[end:]}
