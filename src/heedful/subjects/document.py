"""A text on trial: its words by characters, so that any tokenizer can be mapped to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """One example. `words` are [start, end) spans in characters of each side's text, in
    order; words are numbered over side a, then b, and `rationale` has a mark for each.

    Documents of one `cluster` are resampled together: they share a text. Where only some
    labels can be the answer, `candidates` are their names.
    """

    id: str
    texts: Mapping[str, str]
    words: Mapping[str, tuple[Span, ...]]
    label: int | None
    rationale: tuple[bool, ...] | None
    cluster: str
    candidates: tuple[str, ...] | None = None

    @property
    def length(self) -> int:
        """The number of words of all sides."""
        return sum(len(spans) for spans in self.words.values())

    @property
    def surface(self) -> tuple[str, ...]:
        """The words as they stand in the texts, side a first."""
        return tuple(
            self.texts[side][start:end]
            for side, spans in self.words.items()
            for start, end in spans
        )
