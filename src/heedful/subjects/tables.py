"""Rows from whatever a user has: a file, a data frame, a `datasets.Dataset`, a list of dicts."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.corpora.readers import read_rows
from heedful.errors import HeedfulError

SPLIT_NAMES = {"dev": ("dev", "validation", "valid", "val"), "train": ("train", "training")}


@dataclass(frozen=True)
class Table:
    """`class_names` are those of a label column that holds numbers and knows their names;
    `where` is what error messages call the data."""

    rows: list[dict[str, Any]]
    columns: tuple[str, ...]
    where: str
    class_names: Mapping[str, tuple[str, ...]]


def read_table(data: Any, split: str) -> Table:
    if isinstance(data, (str, Path)):
        path = Path(data).expanduser()
        return _table(read_rows(path), path.name)
    if isinstance(data, pd.DataFrame):
        rows = [{str(name): row[name] for name in row} for row in data.to_dict("records")]
        return _table(rows, "the data frame", [str(name) for name in data.columns])
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _table([dict(row) for row in data], "the list")
    table = _from_datasets(data, split)
    if table is None:
        raise HeedfulError(
            f"texts cannot be read from a {type(data).__name__}: give a corpus by name, a file, "
            f"a data frame, a datasets.Dataset or a list of dicts."
        )
    return table


def is_missing(value: Any) -> bool:
    """None, NaN and their kin."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def plain(value: Any) -> Any:
    """A numpy number or array as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _table(
    rows: list[dict[str, Any]],
    where: str,
    columns: Sequence[str] | None = None,
    class_names: Mapping[str, tuple[str, ...]] | None = None,
) -> Table:
    if not rows:
        raise HeedfulError(f"{where} is empty: it needs at least one row.")
    found = columns or list(dict.fromkeys(str(name) for row in rows for name in row))
    return Table(rows, tuple(found), where, class_names or {})


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
    return _table(data.to_list(), "the dataset", data.column_names, classes)
