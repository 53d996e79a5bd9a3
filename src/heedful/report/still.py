"""Still pictures of results, for viewers that show no styles: SVG, and PNG of it.

Letters are as wide as each other and every word has its length said, so no font moves them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from struct import pack, unpack
from textwrap import wrap
from typing import Any
from zlib import compress, crc32, decompress

from heedful.errors import HeedfulError
from heedful.report.audit_properties import Bar
from heedful.report.audit_telling import Telling
from heedful.report.audit_texts import Word, WordMap
from heedful.report.charts import converted
from heedful.report.formats import bounds, capitalised, shown
from heedful.report.sheet import need, piece

COLUMNS = 92
"""Letters of a line."""
LETTER, HEIGHT, SIZE = 8.4, 25, 14
MARGIN = 18
GAUGE = 190


@dataclass(frozen=True)
class Run:
    """Letters in one style; `shade` is that of a word, up to 100."""

    text: str
    kind: str = ""
    shade: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        return round(len(self.text) * LETTER, 1)


@dataclass(frozen=True)
class Line:
    """Runs beside each other, with a bar at the right where there is one."""

    runs: tuple[Run, ...]
    bar: Bar | None = None
    kind: str = ""


def words_still(said: str, maps: Sequence[WordMap]) -> str:
    """One text with its words shaded by each explanation."""
    lines = [*_sentence(said, "bold")]
    for one in maps:
        lines += [Line(()), *_sentence(one.title, "soft"), *_words(one.words)]
    return _drawn(lines)


def audit_still(
    headline: str, said: Sequence[str], rows: Sequence[dict[str, Any]], example: Telling | None
) -> str:
    """A verdict with its properties, and the telling example where there is one."""
    lines = [*_sentence(headline, "bold")]
    for sentence in said:
        lines += _sentence(sentence, "soft")
    lines += [Line(()), *(_property(row) for row in rows)]
    if example is not None:
        lines += [Line(()), *_sentence(example.lead, "bold")]
        for side in example.sides:
            outcome = f"{example.predicted} {example.before} → {side.after}. {side.outcome}"
            lines += [*_sentence(capitalised(side.title), "soft"), *_words(side.words)]
            lines += _sentence(outcome, "")
    return _drawn(lines)


def png(svg: str) -> str:
    """The picture in base64; "" where the package that draws it is not installed."""
    try:
        need("vl_convert")
    except HeedfulError:
        return ""
    drawn = b64decode(converted("svg_to_png", svg))
    return b64encode(_compressed(drawn)).decode("ascii")


def _compressed(picture: bytes) -> bytes:
    """The same PNG in a third of the bytes: a notebook carries them as text."""
    chunks, pixels, place = [], b"", len(SIGNATURE)
    while place < len(picture):
        (length,) = unpack(">I", picture[place : place + 4])
        kind, data = picture[place + 4 : place + 8], picture[place + 8 : place + 8 + length]
        place += length + 12
        if kind == b"IDAT":
            pixels += data
        else:
            chunks.append((kind, data))
    chunks.insert(-1, (b"IDAT", compress(decompress(pixels), 9)))
    return SIGNATURE + b"".join(
        pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))
        for kind, data in chunks
    )


SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _property(row: dict[str, Any]) -> Line:
    statement, mark = row["statement"], row["badge"]
    name = Run(f"{capitalised(statement.property):<13}", "bold")
    decision = Run(f"{mark['sign']} {mark['words']:<14}", mark["kind"])
    numbers = ""
    if row["bar"] is not None:
        numbers = f"{shown(statement.estimate)} ({bounds(statement.low, statement.high)})"
    return Line(_placed([name, decision, Run(numbers)]), row["bar"], mark["kind"])


def _sentence(text: str, kind: str) -> Iterator[Line]:
    for part in wrap(text, COLUMNS) or [""]:
        yield Line((Run(part, kind),))


def _words(words: Sequence[Word]) -> Iterator[Line]:
    line: list[Run] = []
    for word in words:
        kind = " ".join(("word", word.kind)).strip()
        run = Run(word.text, kind, int(word.shade))
        if line and sum(len(each.text) + 1 for each in line) + len(run.text) > COLUMNS:
            yield Line(_placed(line))
            line = []
        line.append(run)
    yield Line(_placed(line))


def _placed(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Each after the other, a letter apart."""
    placed, x = [], 0.0
    for run in runs:
        placed.append(replace(run, x=round(x, 1)))
        x += run.width + LETTER
    return tuple(placed)


def _drawn(lines: Sequence[Line]) -> str:
    return piece(
        "still.svg",
        lines=lines,
        letter=LETTER,
        height=HEIGHT,
        size=SIZE,
        margin=MARGIN,
        gauge=GAUGE,
        width=round(COLUMNS * LETTER + 2 * MARGIN),
    )
