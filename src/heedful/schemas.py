"""What Heedful writes for machines: a JSON Schema for each, and the versions that it reads.

The schemas are the files of `json_schemas/`.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from heedful.errors import HeedfulError, unknown_name

__all__ = ["schema", "schema_names"]

_FOLDER = files("heedful").joinpath("json_schemas")


def schema_names() -> list[str]:
    """Every output that has a schema."""
    names = (path.name for path in _FOLDER.iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one output. Of a table it is that of a row, and
    `arrow` says how Parquet holds a column."""
    if name not in schema_names():
        raise unknown_name("schema", name, schema_names())
    document: dict[str, Any] = json.loads(
        _FOLDER.joinpath(f"{name}.json").read_text(encoding="utf8")
    )
    return document


def unread(version: object, reads: int) -> str:
    """Why a schema version is not read; empty where it is."""
    if type(version) is int and version == reads:
        return ""
    if is_newer(version, reads):
        return f"it has schema {version} of a newer Heedful, this one reads {reads}"
    if version is None:
        return f"it says no schema version, this Heedful reads {reads}"
    return f"it has schema {str(version)[:20]}, this Heedful reads {reads}"


def is_newer(version: object, reads: int) -> bool:
    """Whether an update would help."""
    return type(version) is int and version > reads


def check_version(what: str, version: object, reads: int, again: str) -> None:
    """`again` is what to do where this Heedful is the newer one."""
    reason = unread(version, reads)
    if reason:
        fix = "update Heedful" if is_newer(version, reads) else again
        raise HeedfulError(f"{what} cannot be read because {reason}: {fix}.")
