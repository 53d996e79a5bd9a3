"""A table that may be larger than memory: blocks of rows, none held that is not asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heedful.errors import HeedfulError

SCHEMA_VERSION = 1
_VERSION = b"heedful_schema_version"
Types = Mapping[str, pa.DataType]


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
        with path.open("wb") as stream, _writer(stream, first.schema) as out:
            out.write_table(first, row_group_size=max(1, len(first)))
            for block in blocks:
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


def _writer(stream: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(stream, schema, compression="zstd")


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
