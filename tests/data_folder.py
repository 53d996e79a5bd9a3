"""Files of a data folder, as corpora find them, and the folder of the real ones."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("HEEDFUL_DATA", ""))


def put(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as compressed JSON lines."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def needs_data(test: Callable[..., None]) -> Any:
    """A test on real corpora, which is skipped where there are none."""
    there = bool(os.environ.get("HEEDFUL_DATA"))
    return pytest.mark.data(pytest.mark.skipif(not there, reason="HEEDFUL_DATA is not set")(test))
