"""Numbers and directions in words. A direction is chosen by an interval, never by a mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heedful.report import Estimate, number

COUNTS = (
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip


def said(found: Estimate, digits: int = 2, scale: float = 1.0, unit: str = "") -> str:
    """`0.63 [0.62, 0.65]`."""
    mean, low, high = (
        number(scale * value, digits) for value in (found.mean, found.low, found.high)
    )
    return f"{mean}{unit} [{low}, {high}]"


def share(found: Estimate) -> str:
    """Per cent, with one decimal."""
    return said(found, 1, 100.0, "%")


def points(found: Estimate) -> str:
    """Points of a score that goes to a hundred."""
    return said(found, 1, 100.0)


def basis(found: Estimate) -> str:
    """What an estimate was made of."""
    trainings = f"{found.seeds} training{'s' * (found.seeds > 1)}"
    return f"{found.texts} texts, {trainings}"


def counted(count: int) -> str:
    return COUNTS[count] if count < len(COUNTS) else str(count)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def directed(found: Estimate, more: str, less: str, open_: str) -> str:
    """One of three phrases; `open_` where the interval holds zero."""
    return {1: more, -1: less, 0: open_}[found.sign]


def tallied(signs: Mapping[str, int], more: str, less: str, open_: str) -> str:
    """Which of several go which way: `it grows for a and b, and cannot be told for c`."""
    phrases = []
    for sign, phrase in ((1, more), (-1, less), (0, open_)):
        names = [name for name, each in signs.items() if each == sign]
        if names:
            phrases.append(f"{phrase} for {listed(names)}")
    return "; ".join(phrases)


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
