"""Probes over very many texts: some at a time, each part kept on disk as soon as it is there.

So memory is that of one part, and a probe that was killed goes on after the last of them.
Only probes that look at each text by itself can be given their texts so (`Experiment.by_text`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.entries import Experiment
from heedful.experiments import Evidence, Findings, Parts
from heedful.store import Frames, PartGone

AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Streamed:
    """The tables of all parts, and the notes of the first."""

    tables: Mapping[str, Frames]
    notes: Mapping[str, str]


def in_parts(experiment: Experiment, evidence: Evidence) -> bool:
    many = len(evidence.data) > AT_ONCE
    return many and experiment.by_text and evidence.task == "classification"


def streamed(
    experiment: Experiment, evidence: Evidence, folder: Path, params: Mapping[str, Any]
) -> Streamed:
    """The probe on every part of the data, in the data's order; tables are read from disk."""
    parts, notes = Parts(folder, last="rows"), dict[str, str]()
    starts = range(0, len(evidence.data), AT_ONCE)
    names = [f"texts-{number:06d}" for number in range(len(starts))]
    for name, start in zip(names, starts, strict=True):
        if start and _is_whole(parts, name):  # the first says again what to note
            continue
        some = range(start, min(start + AT_ONCE, len(evidence.data)))
        part = replace(evidence, data=evidence.data.subset(some), _passes=[])
        found: Findings = experiment.make(part, **params)
        notes |= found.notes
        tables = {"maps": found.maps, "rows": found.rows}
        parts.write(name, {kind: each for kind, each in tables.items() if each is not None})
    kinds = ("rows", "maps") if parts.file(names[0], "maps").is_file() else ("rows",)
    return Streamed({kind: Frames(partial(_tables, parts, names, kind)) for kind in kinds}, notes)


def _is_whole(parts: Parts, name: str) -> bool:
    """What a full disk or a dying machine left is made again."""
    if not parts.has(name):
        return False
    try:
        for kind in ("rows", "maps"):
            if parts.file(name, kind).is_file():
                parts.read(name, kind)
    except PartGone:
        return False
    return True


def _tables(parts: Parts, names: Sequence[str], kind: str) -> Iterator[pd.DataFrame]:
    return (parts.read(name, kind) for name in names)
