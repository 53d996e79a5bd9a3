"""Tables on disk: in blocks where they are larger than memory, and as CSV and JSON lines.

Every CSV of Heedful is made here, and nothing is lost: a number is written with all its digits, a
list or an object as JSON. A spreadsheet runs a cell that begins like a formula, so such a text gets
an apostrophe before it; `plain_text` takes it off again. The scripts of a page do the same
(`report/static/downloads.js`).
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heedful.errors import HeedfulError

SCHEMA_VERSION = 1
_VERSION = b"heedful_schema_version"
Types = Mapping[str, pa.DataType]
NUMBER = re.compile(r"[-+−]?[\d.,]+%?(?: (?:±|to) [-+−]?[\d.,]+%?)?|undefined")
"""A number as tables show it: nothing a spreadsheet could run."""
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_LONGEST = 1 << 26
"""Characters: a line of an export that is longer is not looked at."""
_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


@dataclass(frozen=True)
class Frames:
    """`blocks` makes them anew each time, so that they can be gone through more than once."""

    blocks: Callable[[], Iterator[pd.DataFrame]]

    @staticmethod
    def of(table: pd.DataFrame) -> Frames:
        return Frames(lambda: iter([table]))

    @staticmethod
    def at(path: Path) -> Frames:
        """A Parquet file, a row group at a time."""
        return Frames(lambda: _groups(path))

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return self.blocks()

    @cached_property
    def whole(self) -> pd.DataFrame:
        found = list(self)
        return found[0] if len(found) == 1 else pd.concat(found, ignore_index=True)

    @property
    def first(self) -> pd.DataFrame:
        """The first block: what a page has room for."""
        return next(iter(self))

    def write(self, path: Path, types: Types | None = None) -> None:
        """Parquet with a row group for each block, the schema's version and nothing that differs
        between machines. `types` are of columns whose type a block may not show."""
        blocks = (_arrow(block, types or {}) for block in self)
        first = next(blocks)
        with (
            path.open("wb") as stream,
            pq.ParquetWriter(stream, first.schema, compression="zstd") as out,
        ):
            for block in chain([first], blocks):
                out.write_table(block.cast(first.schema), row_group_size=max(1, len(block)))


class PartGone(HeedfulError):
    """What unfinished work left is no longer there: cleaned away by whoever finished it first,
    or damaged."""


def write_part(stream: BinaryIO, table: pd.DataFrame) -> None:
    """A table of unfinished work, so that damage and other versions can be told."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    known = {**(arrow.schema.metadata or {}), _VERSION: str(SCHEMA_VERSION)}
    pq.write_table(arrow.replace_schema_metadata(known), stream, write_page_checksum=True)


def read_part(path: Path) -> pd.DataFrame:
    """A table that unfinished work of this version left, whole."""
    try:
        if table_version(path) == SCHEMA_VERSION:
            return pd.read_parquet(path, page_checksum_verification=True)
        raise ValueError("of another version")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise PartGone(
            f"what was measured is no longer in {path.parent}: run the command again."
        ) from error


def table_version(path: Path) -> int | str | None:
    """The schema that a Parquet file says it has."""
    said = (pq.read_metadata(path).metadata or {}).get(_VERSION)
    if said is None:
        return None
    text = said.decode("utf8", "replace")
    return int(text) if text.isascii() and text.isdigit() else text


def _groups(path: Path) -> Iterator[pd.DataFrame]:
    with pq.ParquetFile(path) as file:
        if not file.num_row_groups:
            yield file.read().to_pandas()
        for number in range(file.num_row_groups):
            yield file.read_row_group(number).to_pandas()


def _arrow(block: pd.DataFrame, types: Types) -> pa.Table:
    known = {str(name): types[name] for name in block.columns if name in types}
    found = pa.Schema.from_pandas(block, preserve_index=False)
    schema = pa.schema([(each.name, known.get(each.name, each.type)) for each in found])
    table = pa.Table.from_pandas(block, schema=schema, preserve_index=False)
    return table.replace_schema_metadata({_VERSION: str(SCHEMA_VERSION)})


def to_csv(table: pd.DataFrame, digits: str | None = None) -> str:
    """`digits` is how numbers are shortened (`%.7g`); without, they are written in full."""
    texts = {
        name: table[name].map(_safe_cell)
        for name in table
        if not pd.api.types.is_numeric_dtype(table[name])
    }
    safe = pd.DataFrame({name: texts.get(name, table[name]) for name in table}, index=table.index)
    safe.columns = pd.Index([safe_text(str(name)) for name in table])
    # Python's writer leaves a carriage return unquoted where lines end in \n alone
    cells = (cell for column in texts.values() for cell in column)
    returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return str(safe.to_csv(index=False, lineterminator="\n", float_format=digits, quoting=quoting))


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], sides: Sequence[str] = ()
) -> str:
    """A table of Markdown, with the `sides` (`---` or `---:`) that columns keep to. Cells are taken
    as they are: escape what somebody else wrote."""
    first, *lines = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    below = f"| {' | '.join(sides)} |" if sides else f"|{'---|' * len(head)}"
    return "\n".join([first, below, *lines])


def to_jsonl(table: pd.DataFrame) -> str:
    """One object for each row. What is undefined is null; JSON has no infinity, which is a text."""
    names = [str(name) for name in table]
    rows = zip(*(table[name].tolist() for name in table), strict=True)
    return "".join(f"{_json(dict(zip(names, row, strict=True)))}\n" for row in rows)


def columns_of(path: Path) -> list[str] | None:
    """The columns of a table in a file, by the file's ending; None where it is no table."""
    try:
        if path.suffix == ".parquet":
            return list(pq.read_schema(path).names)
        with path.open(encoding="utf8", newline="") as stream:
            head = stream.readline(_LONGEST)
        if path.suffix == ".jsonl":
            return list(json.loads(head))
        return [plain_text(cell) for cell in next(csv.reader([head]))]
    except (OSError, ValueError, RecursionError, csv.Error, pa.ArrowException, TypeError):
        return None


def safe_text(text: str) -> str:
    """As a spreadsheet may open it. A text that has the apostrophe already gets another one, so
    that each text can be read back."""
    return f"'{text}" if _FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def plain_text(text: str) -> str:
    """What `safe_text` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _safe_cell(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple | Mapping):
        return _json(value)
    return safe_text(value) if isinstance(value, str) else value


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is pd.NA or value is pd.NaT or value != value:
        return None
    return _INFINITE.get(value, value) if isinstance(value, float) else value
