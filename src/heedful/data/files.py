"""Files of named corpora and of users: found in the data folder, and read row by row."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from heedful.data.example import Example, RawCorpus
from heedful.entries import Corpus
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
from heedful.store import file_digest

Row = dict[str, Any]
MakeExample = Callable[[str, int, Row], Example | None]
"""Of a split, the number of a row in its file, and the row."""
AT_ONCE = 100  # rows of a Parquet file that are in memory together
_ONE_OBJECT = "write one JSON object per line"
_QUOTED = 'give every row as many fields, and put "quotes" around text with commas or line breaks'


class MissingData(HeedfulError):
    """Files are not there. A store that holds the prepared corpus makes up for it."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and the file of each split in the data folder. The `note` says
    which part of the published data the files are. Who has the training file of `part`, but not
    the whole one, reads these files instead; `part_note` says so."""

    title: str
    homepage: str
    files: Mapping[str, str]
    note: str = ""
    part: Mapping[str, str] = field(default_factory=dict)
    part_note: str = "the training file is a part of the published one"

    def at(self, data_dir: Path | None) -> Source:
        """With the files that are read there."""

        def there(files: Mapping[str, str]) -> bool:
            return data_dir is not None and (data_dir / files["train"]).is_file()

        if self.part and there(self.part) and not there(self.files):
            return replace(self, files=self.part, note=self.part_note, part={})
        return self

    def find(self, data_dir: Path | None) -> dict[str, Path]:
        """All files by their paths in the data folder, where a .csv file may also end in .gz."""
        names = list(self.at(data_dir).files.values())
        if data_dir is None:
            raise MissingData(
                f"no data folder was given: get {self.title} from {self.homepage}, put it "
                f"into DATA/{names[0]} and name the folder DATA with --data-dir or HEEDFUL_DATA."
            )
        found = {}
        for name in names:
            zipped = data_dir / f"{name}.gz"
            found[name] = zipped if name.endswith(".csv") and zipped.is_file() else data_dir / name
            if not found[name].is_file():
                raise MissingData(
                    f"{found[name]} is missing: get {self.title} from {self.homepage}, "
                    f"put it there, or name another data folder with --data-dir or HEEDFUL_DATA."
                )
        return found

    def read(
        self,
        data_dir: Path | None,
        labels: tuple[str, ...],
        columns: Sequence[str],
        example: MakeExample,
        left_out: str = "",
        remark: str = "",
        task: str = "classification",
    ) -> RawCorpus:
        """An example of each row, by its split and its number in its file. Rows without one are
        counted as `left_out`; a `remark` is a note of files that are whole."""
        source, files = self.at(data_dir), self.find(data_dir)
        examples = [
            example(split, number, row)
            for split, name in source.files.items()
            for number, row in enumerate(read_rows(files[name], columns))
        ]
        kept = [one for one in examples if one is not None]
        return RawCorpus(
            labels,
            kept,
            digests(files),
            subset=bool(source.note),
            note="; ".join(filter(None, (source.note, remark))),
            dropped={left_out: len(examples) - len(kept)} if left_out else {},
            task=task,
        )


def published(
    source: Source,
    labels: tuple[str, ...],
    columns: Sequence[str],
    example: MakeExample,
    left_out: str = "",
    remark: str = "",
    **facts: Any,
) -> Corpus:
    """A corpus that is read from a source row by row (see `Source.read`), with its other facts."""

    def make(data_dir: Path | None) -> RawCorpus:
        return source.read(data_dir, labels, columns, example, left_out, remark)

    return Corpus(make=make, find=source.find, needs=("data",), **facts)


def by_split(pattern: str, splits: Sequence[str] = ("train", "dev", "test")) -> dict[str, str]:
    """The file of each split: its name takes the place of a star."""
    return {split: pattern.replace("*", split) for split in splits}


def digests(files: Mapping[str, Path]) -> dict[str, str]:
    """The sha256 of each file: a run is named by the bytes it was made from."""
    return {name: file_digest(path) for name, path in files.items()}


def read_rows(path: Path, columns: Sequence[str] = ()) -> list[Row]:
    """All rows of a CSV, TSV, JSONL or Parquet file, at least one; `columns` must be there."""
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
    match = re.search(r"(\.csv|\.tsv|\.jsonl)(?:\.gz)?$|(\.parquet)$", path.name.lower())
    if match is None:
        raise HeedfulError(
            f"{path.name} has an unknown extension: use .csv, .tsv or .jsonl "
            f"(each also with .gz), or .parquet."
        )
    return match[1] or match[2]


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
    """The characters of a row's longest text or list of texts, and of all together."""
    values = (value if isinstance(value, list) else [value] for value in row.values())
    found = [sum(len(text) for text in texts if isinstance(text, str)) for texts in values]
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


def stream_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Some columns of a file whose first row names them, in upper or lower case."""
    rows = read_cells(path)
    names = [name.upper() for name in next(rows, (0, []))[1]]
    missing = [column for column in columns if column not in names]
    if missing:
        raise HeedfulError(f"{path} has no column {missing[0]}: is it the published table?")
    places = [names.index(column) for column in columns]
    for number, cells in rows:
        if len(cells) != len(names):
            raise HeedfulError(
                f"line {number} of {path} has {len(cells)} cells, the first line {len(names)}."
            )
        yield tuple(cells[place] for place in places)
