"""The folder an audit leaves: files of another version of Heedful are refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from heedful.errors import HeedfulError
from heedful.input_files import check_parquet, read_whole
from heedful.schemas import check_version
from heedful.store import SCHEMA_VERSION, FileKind, table_version
from heedful.verdict.verdict import check_schema

FACTS_VERSION = 1
AGAIN = "run `heedful audit` again with -o"


def _is_verdict(path: Path) -> bool:
    """Of any version, and however its JSON was laid out since."""
    try:
        found = json.loads(read_whole(path))
    except (ValueError, RecursionError, HeedfulError):
        return False
    named = {"schema_version", "decision", "statements", "digest"}
    return isinstance(found, dict) and named <= set(found)


VERDICT = FileKind("a verdict of Heedful", _is_verdict)


def facts_text(facts: Mapping[str, Any]) -> str:
    """What `facts.json` holds."""
    versioned = {"schema_version": FACTS_VERSION, **facts}
    return json.dumps(versioned, indent=2, sort_keys=True, ensure_ascii=False)


def read_facts(folder: Path) -> dict[str, Any]:
    """The first ones said no version. Raises ValueError where it is not what was written."""
    facts = json.loads(read_text(folder / "facts.json"))
    if not isinstance(facts, dict):
        raise ValueError("no facts")
    version = facts.pop("schema_version", 1)
    check_version(str(folder / "facts.json"), version, FACTS_VERSION, AGAIN)
    return facts


def read_verdict(folder: Path) -> dict[str, Any]:
    """As plain values. Raises ValueError where it is not what was written."""
    data = json.loads(read_text(folder / "verdict.json"))
    if not isinstance(data, dict):
        raise ValueError("no verdict")
    check_schema(data, str(folder / "verdict.json"))
    found: dict[str, Any] = data
    return found


def check_tables(files: Iterable[Path]) -> None:
    """Each is opened, so that one that is cut or gone is found now. A table that says no
    version was written anew by another program, from one of the first."""
    for path in files:
        check_parquet(path, pq.read_metadata(path))
        version = table_version(path)
        check_version(str(path), 1 if version is None else version, SCHEMA_VERSION, AGAIN)


def read_text(path: Path) -> str:
    """What is not there is an OSError, as for the other files of a folder."""
    path.stat()
    return read_whole(path)
