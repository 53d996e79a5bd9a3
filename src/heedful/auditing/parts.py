"""Finished batches of an unfinished audit, kept on disk so that a second start goes on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa

from heedful.auditing.explained import Cost
from heedful.auditing.measure import Part

KINDS = ("rows", "maps", "costs")


def write_part(folder: Path, name: str, part: Part) -> None:
    """Each table appears whole by a rename; costs last, so a part is there when they are."""
    tables = dict(zip(KINDS, (part.rows, part.maps, _cost_table(part)), strict=True))
    for kind, table in tables.items():
        building = folder / f"{name}.{kind}.{uuid.uuid4().hex[:12]}.writing"
        table.to_parquet(building, index=False)
        building.rename(_file(folder, name, kind))


def read_part(folder: Path, name: str, ids: tuple[str, ...]) -> Part | None:
    """None where there is none, or where it is damaged or of other texts: measured again."""
    if not _file(folder, name, "costs").is_file():
        return None
    try:
        rows, maps, costs = (pd.read_parquet(_file(folder, name, kind)) for kind in KINDS)
        whole = set(rows["example"]) == set(ids) == set(maps["example"])
        return Part(rows, maps, _costs(costs), _skipped(costs)) if whole else None
    except (OSError, KeyError, pa.ArrowException):
        return None


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
