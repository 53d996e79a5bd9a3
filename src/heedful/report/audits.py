"""Finished audits, from the store or from the folder that `heedful audit -o` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.errors import HeedfulError
from heedful.report.audit_evidence import COLUMNS, AuditEvidence, evidence_of
from heedful.store import Frames, Run

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
    if not _whole(plain):
        raise HeedfulError(f"{run.key} is no whole audit: remove it and run `heedful audit` again.")
    return evidence_of({**tables, **plain})


def audit_of_folder(folder: Path) -> AuditEvidence:
    """A folder that is not whole is refused by name."""
    try:
        plain = {
            name: json.loads((folder / f"{name}.json").read_text(encoding="utf8")) for name in PLAIN
        }
        tables = {
            name: Frames.at(folder / f"{name}.parquet").first
            for name in COLUMNS
            if name not in LATER or (folder / f"{name}.parquet").is_file()
        }
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _broken(folder) from error
    if not _whole(plain) or not all(NEEDED[name] <= set(tables[name]) for name in NEEDED):
        raise _broken(folder)
    return evidence_of({**tables, **plain})


def _whole(plain: Mapping[str, Any]) -> bool:
    """What a page cannot do without."""
    verdict = plain["verdict"]
    said = isinstance(verdict, dict) and isinstance(verdict.get("recommendation"), dict)
    return (
        said
        and all(isinstance(verdict.get(name), str) for name in ("headline", "decision"))
        and "sentence" in verdict["recommendation"]
        and isinstance(plain["facts"], dict)
        and "model" in plain["facts"]
    )


def _broken(folder: Path) -> HeedfulError:
    return HeedfulError(f"{folder} is no whole audit: run `heedful audit` again with -o.")
