"""Values as they may stand in a page's data: nothing that JSON or JavaScript would trip over."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

Blob = dict[str, Any]
"""What becomes an object of JSON."""
MOST_CHARACTERS = 200
"""Characters of a word, a name or an id."""
RECKONED, READ = 9, 4
"""Significant digits of what is reckoned with, and of what is only read."""


def number(value: Any, digits: int = READ) -> float | int | None:
    """None for what is no number; whole ones without a point."""
    found = float(value)
    if not math.isfinite(found):
        return None
    short = float(f"{found:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def numbers(values: Iterable[Any], digits: int = READ) -> list[float | int | None]:
    return [number(value, digits) for value in values]


def text(value: Any, longest: int = MOST_CHARACTERS) -> str:
    """Halves of characters, which no encoding can write, become the mark for what is unknown."""
    clean = str(value).encode("utf8", "replace").decode("utf8")
    return clean if len(clean) <= longest else f"{clean[: longest - 1]}…"
