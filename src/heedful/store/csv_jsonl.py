"""Tables as CSV and as JSON lines, without losing anything: every CSV of Heedful is made here.

A number is written with all its digits, a list or an object as JSON. A spreadsheet runs a cell
that begins like a formula, so such a text gets an apostrophe before it; `plain_text` takes it
off again. The scripts of a page do the same (`report/static/downloads.js`).
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

NUMBER = re.compile(r"[-+−]?[\d.,]+%?(?: (?:±|to) [-+−]?[\d.,]+%?)?|undefined")
"""A number as tables show it: nothing a spreadsheet could run."""
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_LONGEST = 1 << 26
"""Characters: a line of an export that is longer is not looked at."""
_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


def to_csv(table: pd.DataFrame, digits: str | None = None) -> str:
    """`digits` is how numbers are shortened (`%.7g`); without, they are written in full."""
    safe = pd.DataFrame({name: _safe_column(table[name]) for name in table}, index=table.index)
    safe.columns = pd.Index([safe_text(str(name)) for name in table])
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if _has_returns(safe) else csv.QUOTE_MINIMAL
    return str(safe.to_csv(index=False, lineterminator="\n", float_format=digits, quoting=quoting))


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


def _safe_column(column: pd.Series) -> pd.Series:
    return column if pd.api.types.is_numeric_dtype(column) else column.map(_safe_cell)


def _has_returns(table: pd.DataFrame) -> bool:
    """Python's writer leaves a carriage return unquoted where lines end in \\n alone."""
    texts = (table[name] for name in table if not pd.api.types.is_numeric_dtype(table[name]))
    return any(isinstance(cell, str) and "\r" in cell for column in texts for cell in column)


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
