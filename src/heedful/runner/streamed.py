"""Probes over very many texts: some at a time, each part kept on disk as soon as it is there.

So memory is that of one part, and a probe that was killed goes on after the last of them.
Only probes that look at each text by itself can be given their texts so (`Piece.by_text`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.experiments import Evidence, Findings
from heedful.store import Frames, PartGone, read_part, refusals, whole_file, write_part

AT_ONCE = 1 << 14
_LAST = "rows"  # written last: a part is there when they are


@dataclass(frozen=True)
class Streamed:
    """The tables of all parts, and the notes of the first."""

    tables: Mapping[str, Frames]
    notes: Mapping[str, str]


def in_parts(piece: Piece, evidence: Evidence) -> bool:
    many = len(evidence.data) > AT_ONCE
    return many and piece.by_text and evidence.task == "classification"


def streamed(piece: Piece, evidence: Evidence, folder: Path, params: Mapping[str, Any]) -> Streamed:
    """The probe on every part of the data, in the data's order; tables are read from disk."""
    starts = range(0, len(evidence.data), AT_ONCE)
    notes: dict[str, str] = {}
    for number, start in enumerate(starts):
        if _is_there(folder, number) and number:  # the first says again what to note
            continue
        some = range(start, min(start + AT_ONCE, len(evidence.data)))
        part = replace(evidence, data=evidence.data.subset(some), _passes=[])
        found: Findings = piece.make(part, **params)
        notes |= found.notes
        _write(folder, number, found)
    kinds = ("rows", "maps") if _file(folder, 0, "maps").is_file() else ("rows",)
    parts = {kind: Frames(partial(_read, folder, kind, len(starts))) for kind in kinds}
    return Streamed(parts, notes)


def _write(folder: Path, number: int, found: Findings) -> None:
    tables = {"maps": found.maps, _LAST: found.rows}
    with refusals(f"write to {folder}", "make room or choose another store with --store"):
        folder.mkdir(parents=True, exist_ok=True)
        for kind, table in tables.items():
            if table is not None:
                with whole_file(_file(folder, number, kind)) as stream:
                    write_part(stream, table)


def _is_there(folder: Path, number: int) -> bool:
    """Whole: what a full disk or a dying machine left is made again."""
    if not _file(folder, number, _LAST).is_file():
        return False
    try:
        for path in folder.glob(f"texts-{number:06d}.*.parquet"):
            read_part(path)
    except PartGone:
        return False
    return True


def _read(folder: Path, kind: str, parts: int) -> Iterator[pd.DataFrame]:
    return (read_part(_file(folder, number, kind)) for number in range(parts))


def _file(folder: Path, number: int, kind: str) -> Path:
    return folder / f"texts-{number:06d}.{kind}.parquet"
