"""A folder of runs that many processes may share without a master.

A run is written under `scratch/`, its `run.json` last, and moved into `runs/` by one
rename. So a run is there whole or not at all, and whoever loses a race finds the
winner's run, which holds the same thing.
"""

from __future__ import annotations

import os
import platform
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store.keys import canonical, file_digest, run_key
from heedful.store.run import SCHEMA_VERSION, Run, write_json, write_table


@dataclass(frozen=True)
class Writer:
    """Where a run under construction puts its files."""

    path: Path
    made_with: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str, table: pd.DataFrame) -> None:
        write_table(self.path / f"{name}.parquet", table)

    def json(self, name: str, value: Any) -> None:
        write_json(self.path / f"{name}.json", value)

    def weights(self, name: str) -> Path:
        """The path a safetensors file is to be written to."""
        return self.path / f"{name}.safetensors"


class Store:
    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        if self.root.exists() and not self.root.is_dir():
            raise HeedfulError(f"the store {self.root} is a file: give a folder with --store.")
        self._checked: set[str] = set()

    @property
    def _runs(self) -> Path:
        return self.root / "runs"

    def has(self, key: str) -> bool:
        """Whether a whole run is there. A damaged one is not silently made again."""
        if not (self._runs / key).is_dir():
            return False
        self.open(key)
        return True

    def open(self, key: str) -> Run:
        run = Run(self._runs / key)
        if not run.path.is_dir():
            raise HeedfulError(f"no run {key!r} in {self.root}: `heedful store ls` lists the runs.")
        if key not in self._checked:
            problem = run.problem()
            if problem:
                raise HeedfulError(
                    f"run {key} cannot be used because {problem}: "
                    f"remove it with `heedful store gc --damaged` and run the command again."
                )
            self._checked.add(key)
        return run

    def resolve(self, prefix: str) -> Run:
        """A run by its key or an unambiguous beginning of it."""
        matches = [key for key in self.keys() if key.startswith(prefix)]
        if prefix in matches:
            matches = [prefix]
        if len(matches) > 1:
            raise HeedfulError(f"{prefix!r} fits {len(matches)} runs: give more of the key.")
        return self.open(matches[0] if matches else prefix)

    def keys(self) -> list[str]:
        if not self._runs.is_dir():
            return []
        return sorted(path.name for path in self._runs.iterdir() if path.is_dir())

    def runs(self, kind: str | None = None) -> Iterator[Run]:
        for key in self.keys():
            if kind is None or key.startswith(f"{kind}-"):
                yield self.open(key)

    def find(self, kind: str, facts: Mapping[str, Any]) -> list[Run]:
        """The runs of a kind whose facts include these."""
        wanted = {name: canonical(value) for name, value in facts.items()}
        return [
            run
            for run in self.runs(kind)
            if all(canonical(run.facts.get(name)) == value for name, value in wanted.items())
        ]

    def scratch(self, key: str) -> Path:
        """A folder for unfinished work on a run (checkpoints); gone once the run is there."""
        path = self.root / "scratch" / key
        _make_folder(path)
        return path

    @contextmanager
    def writing(self, kind: str, facts: Mapping[str, Any]) -> Iterator[Writer]:
        """Write one run; it appears when the block ends, and not at all if it raises."""
        key = run_key(kind, facts)
        building = self.root / "scratch" / f"{key}.{uuid.uuid4().hex[:12]}.writing"
        _make_folder(building)
        _make_folder(self._runs)
        try:
            writer = Writer(building)
            yield writer
            _seal(building, kind, facts, writer.made_with)
            self._publish(building, key)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        shutil.rmtree(self.root / "scratch" / key, ignore_errors=True)

    def _publish(self, building: Path, key: str) -> None:
        try:
            building.rename(self._runs / key)
        except OSError:
            if not (self._runs / key).is_dir():
                raise
            self.open(key)  # somebody else was first; theirs must be whole
        _sync(self._runs)

    def damaged(self) -> dict[str, str]:
        """Keys of runs that may not be read, each with the reason."""
        problems = {key: Run(self._runs / key).problem() for key in self.keys()}
        return {key: problem for key, problem in problems.items() if problem}

    def remove(self, key: str) -> None:
        shutil.rmtree(self._runs / key)
        self._checked.discard(key)

    def clear_scratch(self) -> list[str]:
        """Remove unfinished work; returns what was removed."""
        scratch = self.root / "scratch"
        names = sorted(path.name for path in scratch.iterdir()) if scratch.is_dir() else []
        shutil.rmtree(scratch, ignore_errors=True)
        return names

    def adopt(self, folder: Path) -> bool:
        """Take a whole run from a folder named by its key; False if it is here already."""
        problem = Run(folder).problem()
        if problem:
            raise HeedfulError(f"{folder.name} was not taken into the store because {problem}.")
        if self.has(folder.name):
            return False
        _make_folder(self._runs)
        building = self.root / "scratch" / f"{folder.name}.{uuid.uuid4().hex[:12]}.writing"
        _make_folder(building.parent)
        shutil.copytree(folder, building)
        self._publish(building, folder.name)
        shutil.rmtree(building, ignore_errors=True)
        return True


def _seal(folder: Path, kind: str, facts: Mapping[str, Any], made_with: dict[str, Any]) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for path in files:
        _sync(path)
    record = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "facts": facts,
        "files": {path.name: file_digest(path) for path in files},
        "made_with": {"python": platform.python_version(), **made_with},
    }
    write_json(folder / "run.json", record)
    _sync(folder / "run.json")
    _sync(folder)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeedfulError(
            f"cannot write to the store at {path}: {error.strerror}; choose another with --store."
        ) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
