"""What the columns behind a chart are called by people who read them in a note or a table.

An axis names what is on it; the ends of an interval or a bin are that name, low and high.
Where several columns lie on one axis they have words of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Spec = dict[str, Any]

NAMES = ("what", "row", "label", "ranking", "model", "method", "token")
"""Columns that name a mark: they need no words of their own."""
WORDS = {
    "bin": "largest weight",
    "height": "density (highest is 1)",
    "texts": "texts",
    "measured": "measured",
    "published_paper": "paper",
    "published_slides": "slides",
    "printed": "paper",
    "percent": "share of texts, %",
    "strength": "λ",
    "final": "the model’s own prediction",
    "position": "position",
    "n": "texts",
    "value": "share of attention",
    "q05": "5th percentile",
    "q25": "25th percentile",
    "reached": "median",
    "q75": "75th percentile",
    "q95": "95th percentile",
    "never": "the decision flips",
}
DRAWING = {
    "colour", "shape", "size", "shade", "series", "order", "kind", "role", "explanation", "base",
    "edge", "start", "end", "from_", "to", "dot", "beside", "q50", "text",
}  # fmt: skip
"""Columns that only place or paint a mark; a colour is told by the legend's words."""
STANDS = {"beside": "at"}
"""A column that is drawn in place of another, and named by its axis."""
ENDS = {"low": "low", "left": "low", "high": "high", "right": "high"}


def fields(spec: Spec) -> list[tuple[str, str]]:
    """Each column worth telling with its words, names first, else in the order of the data."""
    named = _by_axes(spec)
    columns = dict.fromkeys(
        column for rows in spec.get("datasets", {}).values() for row in rows for column in row
    )
    return [
        (column, "" if column in NAMES else WORDS.get(column) or named.get(column) or _own(column))
        for column in sorted(columns, key=lambda column: column not in NAMES)
        if column not in DRAWING
    ]


def _own(column: str) -> str:
    """Ends that are on no axis are those of an interval."""
    return f"interval, {ENDS[column]}" if column in ENDS else column


def _by_axes(spec: Spec) -> dict[str, str]:
    """What the axes' titles say about columns. Two ends of one thing: `τ, low` and `τ, high`."""
    places = [place for encoding in _encodings(spec) for place in _places(encoding)]
    titles = {channel: title for channel, _, title in places if title}
    named: dict[str, str] = {}
    for channel, column, own in places:
        title = own or titles.get(channel, "")
        end = ENDS.get(column.rpartition("_")[2])
        if title:
            named.setdefault(STANDS.get(column, column), f"{title}, {end}" if end else title)
    return named


def _places(encoding: Spec) -> Iterator[tuple[str, str, str]]:
    """Axis, column and title of what is placed; the second end lies on the first one's axis."""
    for channel in ("x", "x2", "y", "y2"):
        one = encoding.get(channel, {})
        if "field" in one:
            yield channel[0], one["field"], one.get("title") or ""


def _encodings(spec: Spec) -> Iterator[Spec]:
    yield spec.get("encoding", {})
    for layer in spec.get("layer", ()):
        yield from _encodings(layer)
