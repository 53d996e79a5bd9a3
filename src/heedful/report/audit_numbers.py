"""Numbers of an audit as people read them; what is undefined is a dash, never a blank or NaN."""

from __future__ import annotations

import math
import re
from typing import Any

from heedful.report.display import MINUS, number

DASH = "–"
LONGEST = 80


def finite(value: Any) -> float:
    """A number, or NaN for everything that is none."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def shown(value: Any, digits: int | None = None) -> str:
    """Two digits after the point, three for small numbers."""
    found = finite(value)
    if digits is None and 0 < found < 0.0005:
        return "<0.001"
    small = 0 < abs(found) < 0.1
    return number(found, digits if digits is not None else 2 + small) or DASH


def percent(value: Any) -> str:
    found = finite(value)
    return DASH if math.isnan(found) else f"{found:.0%}".replace("-", MINUS)


def bounds(low: Any, high: Any) -> str:
    """`0.20 to 0.45`; a dash where there is no interval."""
    left, right = shown(low), shown(high)
    return DASH if left == right == DASH else f"{left} to {right}"


def of_texts(count: int) -> str:
    return f"{count} text{'s' * (count != 1)}"


def milliseconds(value: Any) -> str:
    found = finite(value)
    if math.isnan(found):
        return DASH
    return f"{found:.0f}" if found >= 10 else f"{found:.2g}"


def weight(value: float) -> str:
    """The score of a word: small ones are named as such."""
    if math.isnan(value):
        return "cut off"
    if 0 < abs(value) < 0.0005:
        return f"{MINUS * (value < 0)}<0.001"
    return number(value, 3)


def clipped(text: Any, longest: int = LONGEST) -> str:
    """One line of text of a bearable length."""
    flat = re.sub(r"\s+", " ", str(text)).strip()
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def plain(name: str) -> str:
    """`occlusion:operator=mask` as `occlusion (mask)`, underscores as spaces."""
    base, _, given = name.partition(":")
    inside = given.removeprefix("operator=").replace(",", ", ")
    return clipped(f"{base} ({inside})" if given else base).replace("_", " ")
