"""Compact tables as files: the same bytes for the same numbers, and nothing else is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store.files import write_text

DIGITS = "%.7g"


def read_compact(
    path: Path, columns: Sequence[str], numbers: Sequence[str], what: str
) -> pd.DataFrame:
    """A table that `write_compact` wrote; what is no number is a text, and may be empty."""
    texts = {name: "str" for name in columns if name not in numbers}
    missing = {name: [""] for name in numbers}
    try:
        table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=missing)
    except (OSError, ValueError) as error:
        raise HeedfulError(f"{path} cannot be read as {what}: {error}.") from error
    if list(table.columns) != list(columns):
        raise HeedfulError(f"{path} has not the columns of {what}: {', '.join(columns)}.")
    return table


def write_compact(table: pd.DataFrame, path: Path) -> None:
    write_text(path, table.to_csv(index=False, float_format=DIGITS, lineterminator="\n"))
