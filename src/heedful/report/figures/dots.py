"""Dots with intervals as SVG, drawn by hand: the same bytes on every machine and every font."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from heedful.metrics import Estimate
from heedful.report.formats import number
from heedful.report.panels import FAINT, FONT, INK, class_colour

WIDTH, LABELS, RIGHT = 720, 200, 24
LINE, HEAD, FOOT, KEY = 24, 30, 46, 30
APART = 7
"""Dots of one row lie a little below each other, so that none hides another."""
TICKS = 5
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Row:
    """A label and its dots, one for each series at most."""

    label: str
    dots: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True)
class Panel:
    """Rows over one axis; `zero` is part of the axis where it means something."""

    title: str
    axis: str
    rows: tuple[Row, ...]
    zero: bool = True
    scale: float = 1.0


@dataclass(frozen=True)
class Picture:
    """Panels below each other, and what it shows in words; `series` has the order of colours."""

    says: str
    series: tuple[str, ...]
    panels: tuple[Panel, ...]

    def svg(self) -> str:
        top = KEY if len(self.series) > 1 else 8
        longest = max((len(row.label) for panel in self.panels for row in panel.rows), default=0)
        left = max(LABELS, round(6.8 * longest) + 14)  # enough for a label in any font
        parts = list(_key(self.series, left)) if len(self.series) > 1 else []
        for panel in self.panels:
            parts += _panel(panel, self.series, top, left)
            top += HEAD + LINE * len(panel.rows) + FOOT
        return _document(parts, top, self.says)


def _document(parts: Iterable[str], height: int, says: str) -> str:
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" '
        f'font-size="12" fill="{INK}">'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([head, f"<title>{escape(says)}</title>", ground, *parts, "</svg>", ""])


def _key(series: Sequence[str], left: int) -> Iterator[str]:
    x = left
    for kind, name in enumerate(series):
        yield _mark(x + 5, 14, kind)
        yield _text(x + 16, 18, name)
        x += 36 + 7 * len(name)


def _panel(panel: Panel, series: Sequence[str], top: int, left: int) -> list[str]:
    ticks, digits = _ticks(panel)
    low, high = ticks[0], ticks[-1]
    bottom = top + HEAD + LINE * len(panel.rows)

    def across(value: float) -> float:
        inside = min(max(value, low), high)
        return left + (WIDTH - left - RIGHT) * (inside - low) / (high - low)

    parts = [_text(left, top + 18, panel.title, weight="bold")]
    for tick in ticks:
        dark = tick == 0 and low < 0
        parts.append(_rule(across(tick), top + HEAD - 4, across(tick), bottom, dark))
        parts.append(_text(across(tick), bottom + 15, number(tick, digits), "middle"))
    parts.append(_text(across((low + high) / 2), bottom + 32, panel.axis, "middle"))
    for count, row in enumerate(panel.rows):
        y = top + HEAD + LINE * count + LINE / 2
        parts.append(_text(left - 10, y + 4, row.label, "end"))
        for place, (name, found) in enumerate(row.dots):
            apart = APART * (place - (len(row.dots) - 1) / 2)
            parts += _dot(across, panel.scale, y + apart, (series.index(name), found))
    return parts


def _dot(
    across: Callable[[float], float], scale: float, y: float, dot: tuple[int, Estimate]
) -> list[str]:
    kind, found = dot
    low, mean, high = (across(scale * each) for each in (found.low, found.mean, found.high))
    parts = [_mark(mean, y, kind)]
    if math.isfinite(found.low) and math.isfinite(found.high):
        line = f'x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
        parts.insert(
            0, f'<line {line} stroke="{class_colour(kind)}" stroke-width="2.5" opacity="0.6"/>'
        )
    return parts


def _mark(x: float, y: float, kind: int) -> str:
    """Shapes and colours both tell series apart."""
    colour, shape = class_colour(kind), kind % 3
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    corners = {
        1: ((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)),
        2: ((0, -6), (6, 0), (0, 6), (-6, 0)),
    }[shape]
    places = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{places}" fill="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {place}>{escape(words)}</text>"


def _rule(x: float, y: float, x2: float, y2: float, dark: bool) -> str:
    line = f'x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {line} stroke="{INK if dark else FAINT}"/>'


def _ticks(panel: Panel) -> tuple[list[float], int]:
    """Round numbers around everything that is drawn, and how many decimals they need."""
    ends = [
        panel.scale * value
        for row in panel.rows
        for _, found in row.dots
        for value in (found.low, found.mean, found.high)
        if math.isfinite(value)
    ]
    low, high = min(ends), max(ends)
    if panel.zero:
        low, high = min(low, 0.0), max(high, 0.0)
    step = _step((high - low) / TICKS or 1.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (step < 10 and _halves(step)))
    return [count * step for count in range(first, max(last, first + 1) + 1)], digits


def _step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * step for step in STEPS if size * step >= rough * (1 - 1e-9))


def _halves(step: float) -> int:
    """2.5 needs a decimal more than 2 and 5."""
    leading = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    return int(abs(leading - 2.5) < 1e-6)
