"""Rows of named columns from CSV, TSV, JSONL and Parquet files, plain or gzipped."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from heedful.errors import HeedfulError, listed, short
from heedful.input_files import (
    TEXT_CHARS,
    Unpacking,
    check_file,
    check_parquet,
    first_line,
    limit,
    read_lines,
    readable,
    too_long,
)

Row = dict[str, Any]
AT_ONCE = 100  # rows of a Parquet file that are in memory together
EXTENSIONS = (".csv", ".tsv", ".jsonl", ".parquet")
_ONE_OBJECT = "write one JSON object per line"
_QUOTED = 'give every row as many fields, and put "quotes" around text with commas or line breaks'


def read_rows(path: Path, columns: Sequence[str] = ()) -> list[Row]:
    """All rows of a file; `columns` must be there."""
    rows = list(iterate_rows(path, columns))
    if not rows:
        raise HeedfulError(f"{path} is empty: it needs at least one row.")
    return rows


def iterate_rows(path: Path, columns: Sequence[str] = ()) -> Iterator[Row]:
    """The same one by one, for files that need not fit in memory; there may be none."""
    check_file(path)
    kind = _extension(path)
    if kind == ".parquet":
        yield from _parquet(path, columns)
    elif kind == ".jsonl":
        yield from _jsonl(path, columns)
    else:
        yield from _delimited(path, "\t" if kind == ".tsv" else ",", columns)


def _extension(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    zipped = suffixes[-1:] == [".gz"]
    extension = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    if extension not in EXTENSIONS or (zipped and extension == ".parquet"):
        raise HeedfulError(
            f"{path.name} has an unknown extension: use .csv, .tsv or .jsonl "
            f"(each also with .gz), or .parquet."
        )
    return extension


def read_cells(path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The cells of each row that has some, with the line it ends on."""
    most = limit(TEXT_CHARS)
    csv.field_size_limit(most)
    reader = csv.reader(read_lines(path), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        if "field limit" in str(error):
            raise too_long(f"line {reader.line_num} of {path}", most) from error
        raise _malformed(path, reader.line_num, first_line(error), _QUOTED) from error


def _jsonl(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    most = limit(TEXT_CHARS)
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if "\\u" in line:  # half a surrogate pair is valid JSON but no text
                json.dumps(row, ensure_ascii=False).encode("utf8")
        except (ValueError, RecursionError) as error:
            raise _malformed(path, number, first_line(error), _ONE_OBJECT) from error
        if not isinstance(row, dict):
            raise _malformed(path, number, "it is no JSON object", _ONE_OBJECT)
        _check_columns(path, row, columns, f" in line {number}")
        if _lengths(row)[0] > most:
            raise too_long(f"line {number} of {path}", most)
        yield row


def _delimited(path: Path, delimiter: str, columns: Sequence[str]) -> Iterator[Row]:
    rows = read_cells(path, delimiter)
    _, names = next(rows, (0, None))
    if names is None:
        return
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise HeedfulError(f"{path} names a column twice ({short(twice[0])!r}): rename one.")
    if any("\0" in name for name in names):  # UTF-16 without its mark
        raise HeedfulError(f"{path} is not UTF-8 text: save it in that encoding.")
    _check_columns(path, names, columns, "")
    for number, cells in rows:
        if len(cells) != len(names):
            found = f"it has {len(cells)} fields, the first line {len(names)}"
            raise _malformed(path, number, found, _QUOTED)
        yield dict(zip(names, cells, strict=True))


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """A value that is there a million times is in the file once: all are counted."""
    with readable(path), pq.ParquetFile(path) as file:
        _check_columns(path, file.schema_arrow.names, columns, "")
        check_parquet(path, file.metadata)
        unpacking, most, number = Unpacking(path), limit(TEXT_CHARS), 0
        for part in file.iter_batches(AT_ONCE, columns=list(columns) or None):
            for row in part.to_pylist():
                number += 1
                longest, total = _lengths(row)
                if longest > most:
                    raise too_long(f"row {number} of {path}", most)
                unpacking.add(total)
                yield row


def _lengths(row: Row) -> tuple[int, int]:
    """The characters of a row's longest text, and of all together."""
    found = [len(text) for text in row.values() if isinstance(text, str)]
    return max(found, default=0), sum(found)


def _check_columns(path: Path, there: Iterable[str], wanted: Sequence[str], where: str) -> None:
    names = list(there)
    for column in wanted:
        if column not in names:
            raise HeedfulError(
                f"{path} has no column {column!r}{where}: its columns are {listed(names)}."
            )


def _malformed(path: Path, number: int, why: str, fix: str) -> HeedfulError:
    return HeedfulError(f"line {number} of {path} is malformed ({why}): {fix}.")
