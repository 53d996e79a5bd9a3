"""Finished batches of an unfinished audit, kept on disk so that a second start goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from heedful.auditing.explained import Cost
from heedful.auditing.part import Part
from heedful.auditing.shown import COLUMNS
from heedful.store import PartGone, refusals, whole_file
from heedful.store import read_part as read_table
from heedful.store import write_part as write_table

KINDS = ("rows", "maps", "shown", "documents", "costs")


def write_part(folder: Path, name: str, part: Part) -> None:
    """Each table appears whole by a rename; costs last, so a part is there when they are."""
    given = (part.rows, part.maps, part.shown, part.documents, _cost_table(part))
    tables = dict(zip(KINDS, given, strict=True))
    with refusals(f"write to {folder}", "make room or choose another store with --store"):
        folder.mkdir(parents=True, exist_ok=True)  # gone if another process finished the audit
        for kind, table in tables.items():
            with whole_file(_file(folder, name, kind)) as stream:
                write_table(stream, table)


def read_part(folder: Path, name: str, ids: tuple[str, ...]) -> Part | None:
    """None where there is none, or where it is damaged or of other texts: measured again."""
    if not _file(folder, name, "costs").is_file():
        return None
    try:
        found = (read_kind(folder, name, kind) for kind in KINDS)
        rows, maps, shown, documents, costs = found
        shown = shown[list(COLUMNS)]
        whole = set(rows["example"]) == set(ids) == set(maps["example"])
        part = Part(rows, maps, _costs(costs), _skipped(costs), shown, documents)
        return part if whole and list(documents["example"]) == list(ids) else None
    except (PartGone, KeyError, ValueError):
        return None


def read_kind(folder: Path, name: str, kind: str) -> pd.DataFrame:
    """One table of a part that was there."""
    return read_table(_file(folder, name, kind))


def _file(folder: Path, name: str, kind: str) -> Path:
    return folder / f"{name}.{kind}.parquet"


def _cost_table(part: Part) -> pd.DataFrame:
    return pd.DataFrame(
        [(n, c.seconds, c.passes, c.texts, "") for n, c in part.costs.items()]
        + [(n, 0.0, 0, 0, why) for n, why in part.skipped.items()],
        columns=["explanation", "seconds", "passes", "texts", "skipped"],
    )


def _costs(table: pd.DataFrame) -> Mapping[str, Cost]:
    done = table[table["skipped"] == ""]
    columns = (done[name] for name in ("explanation", "seconds", "passes", "texts"))
    return {
        str(name): Cost(float(seconds), int(passes), int(texts))
        for name, seconds, passes, texts in zip(*columns, strict=True)
    }


def _skipped(table: pd.DataFrame) -> Mapping[str, str]:
    gone = table[table["skipped"] != ""]
    return dict(zip(gone["explanation"], gone["skipped"], strict=True))
