"""Results on a terminal: tables and prose that fit its width, decisions in colour.

Elsewhere the same is printed as plain lines, which scripts can rely on. Where a table is too wide
for its words, its rows are written below each other: no word is ever broken.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING

from heedful.cli.output import coloured, harmless, show

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, JustifyMethod
    from rich.padding import Padding
    from rich.text import Text

NARROWEST, WIDEST_PROSE = 20, 100
GAP = 2
_STYLES = {
    "green": ("SUPPORTED", "yes", "ok", "ready", "done"),
    "red": ("NOT SUPPORTED", "no", "FAILED", "missing", "damaged", "failed"),
    "yellow": ("INCONCLUSIVE", "UNUSABLE", "cannot tell yet", "unreadable", "old"),
}
STYLE = {word: style for style, words in _STYLES.items() for word in words}
"""The colour of a decision or a state: green, red, or amber where it is open."""


ANSWERS = ("yes", "no", "cannot tell yet")


@dataclass(frozen=True)
class Table:
    """Cells under headings; columns of `numbers` are aligned at the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    numbers: Collection[str] = ()

    def lines(self) -> Iterator[str]:
        """Plain, in columns."""
        cells = [list(self.columns), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        if self.title:
            yield self.title
        for row in cells:
            padded = (
                cell.rjust(width) if name in self.numbers else cell.ljust(width)
                for cell, width, name in zip(row, widths, self.columns, strict=True)
            )
            yield "  ".join(padded).rstrip()


def show_table(table: Table, plain: Iterable[str] | None = None) -> None:
    """A table on a terminal; elsewhere the `plain` lines, or else the same in columns."""
    if sys.stdout.isatty():
        sys.stdout.write(drawn(table, terminal_width(), coloured()))
    else:
        show(*(table.lines() if plain is None else plain))


def show_frame(frame: pd.DataFrame, title: str = "") -> None:
    """A data frame as a report writes it; columns without words are numbers."""
    from heedful.report import text_cells, to_text

    if frame.empty or not sys.stdout.isatty():
        show(*([title] if title else []), to_text(frame))
        return
    columns, *rows = text_cells(frame)
    numbers = [name for name in columns if frame[name].dtype.kind in "if"]
    table, shared = without_repetition(Table(columns, rows, title, numbers))
    show_table(table)
    show_prose(*shared)


def without_repetition(table: Table) -> tuple[Table, list[str]]:
    """Without columns that say the same in every row, and what they say: a terminal is narrow."""
    if len(table.rows) < 2:
        return table, []
    cells = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    same = {name: column[0] for name, column in cells.items() if len(set(column)) == 1}
    kept = [name for name in table.columns if name not in same] or list(table.columns)
    rows = list(zip(*(cells[name] for name in kept), strict=True))
    told = "; ".join(f"{name} {value}" for name, value in same.items() if value.strip())
    return replace(table, columns=kept, rows=rows), [f"In every row: {told}."] if told else []


def show_prose(*lines: str) -> None:
    """Lines of words, broken between words on a terminal. A line that begins with a decision and a
    colon has it in colour."""
    if not sys.stdout.isatty():
        show(*lines)
        return
    width = terminal_width()
    for line in lines:
        sys.stdout.write(_tinted("\n".join(wrapped(harmless(line), width))) + "\n")


def wrapped(line: str, width: int) -> list[str]:
    """Broken between words, as wide as is good to read. What follows is indented as it began, or as
    the words after its heading are."""
    found = re.match(r"(\s*)(?:(?<=\s)[^:]{1,16}:\s+)?", line)
    own, whole = (len(found[1]), len(found[0])) if found else (0, 0)
    start = " " * (whole if whole <= width // 2 else own)
    most = max(NARROWEST, min(width, WIDEST_PROSE))
    parts = textwrap.wrap(
        line, most, subsequent_indent=start, break_long_words=False, break_on_hyphens=False
    )
    return parts or [""]


def terminal_width() -> int:
    return max(NARROWEST, shutil.get_terminal_size().columns)


def drawn(table: Table, width: int, colours: bool) -> str:
    """As a terminal of this width shows it."""
    from rich.console import Console

    stream = StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colours,
        no_color=not colours,
        color_system="standard" if colours else None,
        highlight=False,
    )
    if _narrowest(table) > width:
        for line in _stacked(table):
            console.print(line)
    else:
        _draw(console, table)
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def _draw(console: Console, table: Table) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawing
    from rich.text import Text

    drawing = Drawing(
        box=SIMPLE_HEAD,
        title=Text(harmless(table.title), style="bold") if table.title else None,
        title_justify="left",
        header_style="bold",
        show_header=any(table.columns),
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name, column in zip(table.columns, _widths(table, console.width), strict=True):
        side: JustifyMethod = "right" if name in table.numbers else "left"
        drawing.add_column(Text(harmless(name)), justify=side, width=column)
    for row in table.rows:
        drawing.add_row(*map(_cell, row))
    console.print(drawing)


def _stacked(table: Table) -> Iterator[Text | Padding]:
    """A row after the other: its first cell, and each other cell after its heading."""
    from rich.padding import Padding
    from rich.text import Text

    if table.title:
        yield Text(table.title, style="bold")
    for first, *rest in table.rows:
        yield Text(harmless(first), style="bold")
        for name, cell in zip(table.columns[1:], rest, strict=True):
            if cell:
                told = Text(f"{name}: " if name else "").append_text(_cell(cell))
                yield Padding(told, (0, 0, 0, 2), expand=False)


def _widths(table: Table, most: int) -> list[int]:
    """Of columns: as their cells need, and where that is too much the widest are made narrower, but
    never more than their longest word."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in _columns(table)]
    least = _longest_words(table)
    room = most - GAP * (len(widths) - 1)
    while sum(widths) > room:
        slack = [width if width > low else 0 for width, low in zip(widths, least, strict=True)]
        if not any(slack):
            break
        widths[slack.index(max(slack))] -= 1
    return widths


def _narrowest(table: Table) -> int:
    """Columns cannot be narrower than their longest words."""
    words = _longest_words(table)
    return sum(words) + GAP * (len(words) - 1)


def _longest_words(table: Table) -> list[int]:
    from rich.cells import cell_len

    return [
        max(cell_len(word) for cell in column for word in cell.split() or [""])
        for column in _columns(table)
    ]


def _columns(table: Table) -> list[tuple[str, ...]]:
    """The cells of each, its heading first."""
    rows = [tuple(map(harmless, row)) for row in (table.columns, *table.rows)]
    return list(zip(*rows, strict=True))


def _cell(text: str) -> Text:
    from rich.text import Text

    return Text(harmless(text), style=STYLE.get(text.strip(), ""))


def _tinted(line: str) -> str:
    """With its decision in colour, and the answer after it."""
    start, colon, rest = line.partition(": ")
    if not colon or start not in STYLE or not coloured():
        return line
    import typer

    answer = next((word for word in ANSWERS if rest.startswith(word)), "")
    decision, words = (
        typer.style(word, bold=True, fg=STYLE[start]) if word else "" for word in (start, answer)
    )
    return f"{decision}: {words}{rest.removeprefix(answer)}"
