"""Read a verdict, and the facts and tables beside it, from an audit's folder or from a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from heedful.errors import HeedfulError
from heedful.input_files import check_parquet, read_whole
from heedful.schemas import check_version
from heedful.store import SCHEMA_VERSION as TABLES_VERSION
from heedful.store import FileKind, Run, table_version
from heedful.verdict.verdict import Verdict

FACTS_VERSION = 1
AGAIN = "run `heedful audit` again with -o"


def load_verdict(folder: Path) -> Verdict:
    """The verdict of an audit's folder. Raises OSError where there is none, ValueError where the
    file is not what was written, and HeedfulError where its version cannot be read."""
    path = folder / "verdict.json"
    values = json.loads(read_text(path))
    if not isinstance(values, dict):
        raise ValueError("no verdict")
    return Verdict.from_values(values, str(path))


def stored_verdict(run: Run) -> Verdict:
    """The verdict of an audit in the store."""
    name = f"the verdict of {run.key}"
    return Verdict.from_values(run.json("verdict"), name, "audit anew with another --store")


def _is_verdict(path: Path) -> bool:
    """Of any version, and however its JSON was laid out since."""
    try:
        data = json.loads(read_whole(path))
    except (ValueError, RecursionError, HeedfulError):
        return False
    named = {"schema_version", "decision", "statements", "digest"}
    return isinstance(data, dict) and named <= set(data)


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


def check_tables(files: Iterable[Path]) -> None:
    """Open each table, so that a damaged or missing one is reported now. A table without a version
    was rewritten by another program from one of the first."""
    for path in files:
        check_parquet(path, pq.read_metadata(path))
        version = table_version(path)
        check_version(str(path), 1 if version is None else version, TABLES_VERSION, AGAIN)


def read_text(path: Path) -> str:
    """A missing file is an OSError, as for the other files of a folder."""
    path.stat()
    return read_whole(path)
