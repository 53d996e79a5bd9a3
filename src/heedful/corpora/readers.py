"""Rows of named columns from CSV, TSV, JSONL and Parquet files, plain or gzipped.

Files are a user's: whatever is wrong with one ends in a sentence that says what and where.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heedful.errors import HeedfulError

Row = dict[str, Any]
AT_ONCE = 1000  # rows of a Parquet file that are in memory together
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
    check_there(path)
    kind = _extension(path)
    with readable(path):
        found = _parquet(path, columns) if kind == ".parquet" else _text_rows(path, kind, columns)
        yield from found


def check_there(path: Path) -> None:
    if path.is_dir():
        raise HeedfulError(f"{path} is a folder: give a file.")
    if not path.is_file():
        raise HeedfulError(f"there is no file {path}: check the path.")


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


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what decoders raise into sentences."""
    try:
        yield
    except UnicodeError as error:
        raise HeedfulError(f"{path} is not UTF-8 text: save it in that encoding.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise HeedfulError(f"{path} is no whole gzip file: compress it again.") from error
    except pa.ArrowException as error:
        raise HeedfulError(
            f"{path} cannot be read as Parquet ({_first_line(error)}): write it again."
        ) from error
    except (OSError, ValueError, OverflowError, RecursionError, KeyError) as error:
        raise HeedfulError(f"{path} cannot be read ({_first_line(error)}): mend it.") from error


def _text_rows(path: Path, kind: str, columns: Sequence[str]) -> Iterator[Row]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", newline="") as stream:
        if kind == ".jsonl":
            yield from _jsonl(path, stream, columns)
        else:
            yield from _delimited(path, stream, "\t" if kind == ".tsv" else ",", columns)


def _jsonl(path: Path, lines: Iterable[str], columns: Sequence[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if "\\u" in line:  # half a surrogate pair is valid JSON but no text
                json.dumps(row, ensure_ascii=False).encode("utf8")
        except (ValueError, RecursionError) as error:
            raise _malformed(path, number, _first_line(error), _ONE_OBJECT) from error
        if not isinstance(row, dict):
            raise _malformed(path, number, "it is no JSON object", _ONE_OBJECT)
        _check_columns(path, row, columns, f" in line {number}")
        yield row


def _delimited(
    path: Path, stream: Iterable[str], delimiter: str, columns: Sequence[str]
) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)  # the library's own limit is shorter than a long document
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        names = next(reader, None)
        if names is None:
            return
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise HeedfulError(f"{path} names a column twice ({twice!r}): rename one of them.")
        if any("\0" in name for name in names):  # UTF-16 without its mark
            raise HeedfulError(f"{path} is not UTF-8 text: save it in that encoding.")
        _check_columns(path, names, columns, "")
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(names):
                found = f"it has {len(fields)} fields, the first line {len(names)}"
                raise _malformed(path, reader.line_num, found, _QUOTED)
            yield dict(zip(names, fields, strict=True))
    except csv.Error as error:
        raise _malformed(path, reader.line_num, _first_line(error), _QUOTED) from error


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    file = pq.ParquetFile(path)
    _check_columns(path, file.schema_arrow.names, columns, "")
    for part in file.iter_batches(AT_ONCE, columns=list(columns) or None):
        yield from part.to_pylist()


def _check_columns(path: Path, there: Iterable[str], wanted: Sequence[str], where: str) -> None:
    names = list(there)
    for column in wanted:
        if column not in names:
            listed = ", ".join(names) or "none"
            raise HeedfulError(f"{path} has no column {column!r}{where}: its columns are {listed}.")


def _malformed(path: Path, number: int, why: str, fix: str) -> HeedfulError:
    return HeedfulError(f"line {number} of {path} is malformed ({why}): {fix}.")


def _first_line(error: BaseException) -> str:
    """And of it the first sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.partition(". ")[0].rstrip(".")[:200]
