"""Files of a data folder, as corpora find them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def put(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as compressed JSON lines."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
