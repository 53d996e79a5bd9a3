"""The schemas themselves: one JSON file each, beside this one."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from heedful.errors import unknown_name

_ENDING = ".json"


def schema_names() -> list[str]:
    """Every output that has a schema."""
    found = (path.name for path in files("heedful.schemas").iterdir())
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one output. Of a table it is that of a row, and
    `arrow` says how Parquet holds a column."""
    if name not in schema_names():
        raise unknown_name("schema", name, schema_names())
    path = files("heedful.schemas").joinpath(f"{name}{_ENDING}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found
