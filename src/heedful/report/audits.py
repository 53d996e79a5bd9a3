"""Finished audits, from the store or from the folder that `heedful audit -o` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.errors import HeedfulError
from heedful.report.audit_evidence import COLUMNS, AuditEvidence, evidence_of
from heedful.store import Frames, Run
from heedful.verdict import check_schema, check_tables, read_facts, read_verdict

PLAIN = ("verdict", "facts")
LATER = ("shown",)
"""Tables that audits of earlier versions have not."""
NEEDED = {
    "rows": {"example", "explanation", "measure", "value"},
    "maps": {"example", "explanation", "scores"},
    "costs": {"explanation"},
    "documents": {"example", "words"},
}


def names_folder(named: str) -> bool:
    """A key of a run has no slash; what has one, or is a folder here, is meant as a folder."""
    path = Path(named)
    return bool(named) and (path.is_dir() or len(path.parts) > 1)


def audit_of_run(run: Run) -> AuditEvidence:
    """Of very many texts the first block of them: a random sample."""
    tables = {name: run.frames(name).first for name in COLUMNS if run.has(f"{name}.parquet")}
    plain = {name: run.json(name) for name in PLAIN}
    check_schema(plain["verdict"], f"the verdict of {run.key}", "audit anew with another --store")
    if not _whole(plain):
        raise HeedfulError(f"{run.key} is no whole audit: remove it and run `heedful audit` again.")
    return evidence_of({**tables, **plain})


def audit_of_folder(folder: Path) -> AuditEvidence:
    """A folder that is not whole is refused by name."""
    try:
        plain = {"verdict": read_verdict(folder), "facts": read_facts(folder)}
        files = {name: folder / f"{name}.parquet" for name in COLUMNS}
        there = {name: file for name, file in files.items() if name not in LATER or file.is_file()}
        check_tables(there.values())
        tables = {name: Frames.at(file).first for name, file in there.items()}
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise _broken(folder) from error
    if not _whole(plain) or not all(NEEDED[name] <= set(tables[name]) for name in NEEDED):
        raise _broken(folder)
    return evidence_of({**tables, **plain})


def _whole(plain: Mapping[str, Any]) -> bool:
    """What a page cannot do without."""
    verdict = plain["verdict"]
    return (
        isinstance(verdict, dict)
        and all(isinstance(verdict.get(name), str) for name in ("headline", "decision"))
        and all(_said(verdict.get(name)) for name in ("recommendation", "direction", "sites"))
        and isinstance(plain["facts"], dict)
        and "model" in plain["facts"]
    )


def _said(part: Any) -> bool:
    return isinstance(part, dict) and "sentence" in part


def _broken(folder: Path) -> HeedfulError:
    return HeedfulError(f"{folder} is no whole audit: run `heedful audit` again with -o.")
