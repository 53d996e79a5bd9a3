"""Where a text's words stand, for texts that bring none: what a reader would call a word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from heedful.subjects.document import Span

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


def _seen(text: str, start: int, end: int) -> bool:
    return start >= 0 and any(
        unicodedata.category(each) not in ("Cf", "Cc") for each in text[start:end]
    )
