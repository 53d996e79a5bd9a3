"""JSON Schemas of what Heedful writes, one file each beside this one, and the versions it reads."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from heedful.errors import HeedfulError, unknown_name

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


def unread(found: object, reads: int) -> str:
    """Why a schema version is not read; empty where it is."""
    if type(found) is int and found == reads:
        return ""
    if is_newer(found, reads):
        return f"it has schema {found} of a newer Heedful, this one reads {reads}"
    if found is None:
        return f"it says no schema version, this Heedful reads {reads}"
    return f"it has schema {str(found)[:20]}, this Heedful reads {reads}"


def is_newer(found: object, reads: int) -> bool:
    """Whether an update would help."""
    return type(found) is int and found > reads


def check_version(what: str, found: object, reads: int, again: str) -> None:
    """`again` is what to do where this Heedful is the newer one."""
    reason = unread(found, reads)
    if reason:
        fix = "update Heedful" if is_newer(found, reads) else again
        raise HeedfulError(f"{what} cannot be read because {reason}: {fix}.")
