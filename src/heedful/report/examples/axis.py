"""One row of words for several tokenizations of a text.

Models cut a text differently; side by side they can only be shown on words that all of them
share. What overlaps in characters is one word, and so is what is linked by overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """The words as [start, end) in characters, in order; and, for each tokenization, the word
    of each of its tokens."""

    words: tuple[Span, ...]
    numbers: tuple[tuple[int, ...], ...]


def common_axis(tokenizations: Sequence[Sequence[Span]]) -> Axis:
    """Tokens that overlap nothing stay as they are; blanks between tokens are no word."""
    words: list[Span] = []
    number_of: dict[Span, int] = {}
    for span in sorted({tuple(span) for tokens in tokenizations for span in tokens}):
        start, end = span
        if words and start < words[-1][1]:
            words[-1] = (words[-1][0], max(end, words[-1][1]))
        else:
            words.append((start, end))
        number_of[start, end] = len(words) - 1
    numbers = tuple(tuple(number_of[a, b] for a, b in tokens) for tokens in tokenizations)
    return Axis(tuple(words), numbers)
