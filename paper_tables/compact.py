"""Compact tables as files: the same bytes for the same numbers, and nothing else is read."""

from __future__ import annotations

import csv
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store import plain_text, to_csv, write_text

DIGITS = "%.7g"
LARGEST = 1e9
"""No score, distance or count of the papers comes near it."""


@dataclass(frozen=True)
class Form:
    """Columns in their order; `counts` are whole and not negative, `numbers` may be empty, all
    others are texts. No two lines have equal `keys`."""

    what: str
    columns: Sequence[str]
    counts: Sequence[str]
    numbers: Sequence[str]
    keys: Sequence[str]


def read_compact(path: Path, form: Form) -> pd.DataFrame:
    """A table that `write_compact` wrote."""
    lines = [
        [plain_text(cell) for cell in line] for line in read_lines(path, form.what, form.columns)
    ]
    table = pd.DataFrame(lines, columns=list(form.columns), dtype=object)
    for name in (*form.counts, *form.numbers):
        values = [_number(path, at, name, text) for at, text in enumerate(table[name], 2)]
        table[name] = pd.Series(values, dtype="float64")
    for name in form.counts:
        table[name] = _whole(path, table[name])
    twice = table.index[table.duplicated(list(form.keys))]
    if len(twice):
        line = int(twice[0]) + 2
        raise HeedfulError(f"line {line} of {path} repeats another: one number has one line.")
    return table


def read_lines(path: Path, what: str, columns: Sequence[str]) -> Iterator[list[str]]:
    """The fields of every line under the right head; one that is cut or spoiled is refused."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise HeedfulError(
            f"{path} cannot be read as {what} ({reason}): take it from the repository again."
        ) from error
    if not lines or lines[0] != list(columns):
        raise HeedfulError(f"{path} has not the columns of {what}: {', '.join(columns)}.")
    for at, line in enumerate(lines[1:], 2):
        if len(line) != len(columns) or not _plain(line):
            raise HeedfulError(
                f"line {at} of {path} is no line of {what}: it has {len(line)} fields instead of "
                f"{len(columns)}, or characters that no text has."
            )
        yield line


def _plain(line: Iterable[str]) -> bool:
    return all(unicodedata.category(char) != "Cc" for text in line for char in text)


def _number(path: Path, at: int, name: str, text: str) -> float:
    try:
        value = float(text) if text else math.nan
        if not text or abs(value) <= LARGEST:
            return value
    except ValueError:
        pass
    raise HeedfulError(f"{name} in line {at} of {path} is {text!r}: give a number, or nothing.")


def _whole(path: Path, values: pd.Series) -> pd.Series:
    for at, value in enumerate(values, 2):
        if not (value >= 0 and value == int(value)):
            raise HeedfulError(
                f"{values.name} in line {at} of {path} is {value}: give a whole number from 0."
            )
    return values.astype("int64")


def write_compact(table: pd.DataFrame, path: Path) -> None:
    write_text(path, compact_text(table))


def compact_text(table: pd.DataFrame) -> str:
    return to_csv(table, DIGITS)
