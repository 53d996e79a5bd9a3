"""Rows from whatever a user has: a file, a data frame, a `datasets.Dataset`, a list of dicts."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.corpora import iterate_rows
from heedful.errors import HeedfulError

AT_ONCE = 1000  # rows that are taken out of a frame or a dataset together
SPLIT_NAMES = {"dev": ("dev", "validation", "valid", "val"), "train": ("train", "training")}


@dataclass(frozen=True)
class Table:
    """`rows` may be gone through again and again; there are `size` of them, and never all in
    memory. `class_names` are those of a label column that holds numbers and knows their names;
    `where` is what error messages call the data."""

    rows: Iterable[Mapping[str, Any]]
    size: int
    columns: tuple[str, ...]
    where: str
    class_names: Mapping[str, tuple[str, ...]]


def read_table(data: Any, split: str | None) -> Table:
    """`split` is of a dataset dict, and `test` where it is left out."""
    if split is not None and not _has_splits(data):
        called = Path(data).name if isinstance(data, (str, Path)) else f"a {type(data).__name__}"
        raise HeedfulError(f"{called} has no splits to choose {split!r} from: leave --split out.")
    if isinstance(data, (str, Path)):
        path = Path(data).expanduser()
        rows = _Again(partial(iterate_rows, path))
        return _not_empty(_surveyed(rows, path.name), str(path))
    if isinstance(data, pd.DataFrame):
        return _not_empty(_from_frame(data))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _not_empty(_surveyed(data, "the list"))
    table = _from_datasets(data, split or "test")
    if table is None:
        raise HeedfulError(
            f"texts cannot be read from a {type(data).__name__}: give a corpus by name, a file, "
            f"a data frame, a datasets.Dataset or a list of dicts."
        )
    return _not_empty(table)


def is_missing(value: Any) -> bool:
    """None, NaN and their kin."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def plain(value: Any) -> Any:
    """A numpy number or array as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class _Again:
    """Rows that are made anew each time they are gone through."""

    rows: Callable[[], Iterator[Mapping[str, Any]]]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self.rows()


def _not_empty(table: Table, called: str = "") -> Table:
    if not table.size:
        raise HeedfulError(f"{called or table.where} is empty: it needs at least one row.")
    return table


def _surveyed(rows: Iterable[Mapping[str, Any]], where: str) -> Table:
    """Any row may have a column of its own, so all are seen first."""
    columns: dict[str, None] = {}
    size = 0
    for row in rows:
        columns.update(dict.fromkeys(str(name) for name in row))
        size += 1
    return Table(rows, size, tuple(columns), where, {})


def _from_frame(data: pd.DataFrame) -> Table:
    columns = tuple(str(name) for name in data.columns)
    return Table(_Again(partial(_frame_rows, data)), len(data), columns, "the data frame", {})


def _frame_rows(data: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
    for start in range(0, len(data), AT_ONCE):
        for row in data.iloc[start : start + AT_ONCE].to_dict("records"):
            yield {str(name): row[name] for name in row}


def _has_splits(data: Any) -> bool:
    library = sys.modules.get("datasets")
    return library is not None and isinstance(data, library.DatasetDict)


def _from_datasets(data: Any, split: str) -> Table | None:
    """Whoever holds a Dataset has imported the library, so it need not be imported here."""
    library = sys.modules.get("datasets")
    if library is None:
        return None
    if isinstance(data, library.DatasetDict):
        names = [name for name in SPLIT_NAMES.get(split, (split,)) if name in data]
        if not names:
            raise HeedfulError(
                f"the dataset has no split {split!r}: its splits are {', '.join(data)}."
            )
        data = data[names[0]]
    if not isinstance(data, library.Dataset):
        return None
    inner = {name: getattr(kind, "feature", kind) for name, kind in data.features.items()}
    classes = {
        name: tuple(kind.names)
        for name, kind in inner.items()
        if isinstance(kind, library.ClassLabel)
    }
    rows, columns = _Again(partial(_dataset_rows, data)), tuple(data.column_names)
    return Table(rows, len(data), columns, "the dataset", classes)


def _dataset_rows(data: Any) -> Iterator[Mapping[str, Any]]:
    for start in range(0, len(data), AT_ONCE):
        yield from data.select(range(start, min(start + AT_ONCE, len(data)))).to_list()
