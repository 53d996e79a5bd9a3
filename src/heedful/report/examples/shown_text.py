"""A text as a page has it: its words, its label, what people marked, the other text of a pair."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.report.examples.axis import Axis
from heedful.report.examples.cell import Document
from heedful.report.examples.choice import MOST_WORDS
from heedful.report.examples.plain import Blob, text

OTHER = 4000
"""Characters of the other text of a pair."""


def shown_text(name: str, axis: Axis, documents: Sequence[Document]) -> Blob:
    first = documents[0]
    shown = [text(first.surface(span).strip()) for span in axis.words[:MOST_WORDS]]
    found: Blob = {"id": text(name), "w": shown, "y": first.label}
    found |= _second(axis, documents, len(shown))
    marks = _marks(axis, documents)
    if marks is not None:
        found["r"] = marks[:MOST_WORDS]
    if len(axis.words) > MOST_WORDS:
        found["cut"] = len(axis.words)
    return found


def _second(axis: Axis, documents: Sequence[Document], shown: int) -> Blob:
    """Of a pair: how many words are of the first text, where some are of the second; and the
    other text as a whole, where some model did not attend to its words."""
    found: Blob = {}
    behind = documents[0].behind
    words = sum(start < behind for start, _ in axis.words)
    if words < shown:
        found["a"] = words
    other = next((each.other for each in documents if each.other), "")
    if other and any(all(start < behind for start, _ in each.spans) for each in documents):
        found["b"] = text(other, OTHER)
    return found


def _marks(axis: Axis, documents: Sequence[Document]) -> list[int] | None:
    """1 for a word any of whose tokens people marked."""
    for document, places in zip(documents, axis.numbers, strict=True):
        if document.marked is not None:
            marks = [0] * len(axis.words)
            for place, mark in zip(places, document.marked, strict=True):
                marks[place] |= int(mark)
            return marks
    return None
