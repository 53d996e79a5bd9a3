"""A folder of runs that many processes may share without a master.

A run is written under `scratch/`, its `run.json` last, brought to the disk, and moved into
`runs/` by one rename. So a run is there whole or not at all, and whoever loses a race finds
the winner's run: the first one stays, also where the last digits of another device differ.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store.files import copy_tree, discard, refusals, sync, sync_tree, unfinished
from heedful.store.keys import canonical, file_digest, run_key
from heedful.store.run import SCHEMA_VERSION, Problem, Run, write_json, write_table

_MARK = ".unfinished"
"""Not there if a folder was cleaned away while it was written and made again by a library."""
_ELSEWHERE = "make it writable, make room or choose another with --store"


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
        with self._reading():
            if self.root.exists() and not self.root.is_dir():
                raise HeedfulError(f"the store {self.root} is a file: give a folder with --store.")
        self._checked: set[str] = set()

    @property
    def _runs(self) -> Path:
        return self.root / "runs"

    def has(self, key: str) -> bool:
        """Whether a whole run is there. A damaged one is not silently made again."""
        with self._reading():
            if not (self._runs / key).is_dir():
                return False
        self.open(key)
        return True

    def open(self, key: str) -> Run:
        run = Run(self._runs / key)
        with self._reading():
            there = run.path.is_dir()
        if not there:
            raise HeedfulError(f"no run {key!r} in {self.root}: `heedful store ls` lists the runs.")
        if key not in self._checked:
            problem = run.problem()
            if problem:
                raise HeedfulError(
                    f"run {key} cannot be used because {problem.reason}: {problem.fix}."
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
        with self._reading():
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
        path = self._scratch / key
        with self._writing(key):
            path.mkdir(parents=True, exist_ok=True)
        return path

    @contextmanager
    def writing(self, kind: str, facts: Mapping[str, Any]) -> Iterator[Writer]:
        """Write one run; it appears when the block ends, and not at all if it raises."""
        key = run_key(kind, facts)
        with self.building(key) as folder:
            writer = Writer(folder)
            (folder / _MARK).touch()
            yield writer
            (folder / _MARK).unlink()
            _seal(folder, kind, facts, writer.made_with)
            self._publish(folder, key)
        shutil.rmtree(self._scratch / key, ignore_errors=True)

    @contextmanager
    def building(self, name: str) -> Iterator[Path]:
        """A folder of one's own in `scratch/` that is gone after the block."""
        folder = unfinished(self._scratch / name)
        try:
            with self._writing(name):
                folder.mkdir(parents=True)
                yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _publish(self, folder: Path, key: str) -> None:
        self._runs.mkdir(exist_ok=True)
        try:
            folder.rename(self._runs / key)
        except OSError:
            if not (self._runs / key).is_dir():
                raise
            self.open(key)  # somebody else was first; theirs must be whole
        sync(self._runs)

    def problems(self) -> dict[str, Problem]:
        """Keys of runs that may not be read, each with the reason and the fix."""
        found = {key: Run(self._runs / key).problem() for key in self.keys()}
        return {key: problem for key, problem in found.items() if problem}

    def damaged(self) -> dict[str, str]:
        """Keys of runs that may not be read, each with the reason."""
        return {key: problem.reason for key, problem in self.problems().items()}

    def remove(self, key: str) -> None:
        """By one rename, so that half a run is never there."""
        with self.building(key) as folder:
            (self._runs / key).rename(folder / key)
        self._checked.discard(key)

    def clear_damaged(self) -> list[str]:
        """Remove the runs that are lost; returns their keys."""
        lost = [key for key, problem in self.problems().items() if problem.lost]
        for key in lost:
            self.remove(key)
        return lost

    def clear_scratch(self) -> list[str]:
        """Remove unfinished work; returns what was removed."""
        names = sorted(path.name for path in self._scratch.glob("*"))
        with self._writing("scratch"):
            for name in names:
                discard(self._scratch / name)
        with suppress(OSError):  # gone, or somebody has begun anew
            self._scratch.rmdir()
        return names

    def adopt(self, folder: Path) -> bool:
        """Take a whole run from a folder named by its key; False if it is here already."""
        problem = Run(folder).problem()
        if problem:
            fix = "bring it again from where it is whole" if problem.lost else problem.fix
            raise HeedfulError(
                f"{folder.name} was not taken into the store because {problem.reason}: {fix}."
            )
        if self.has(folder.name):
            return False
        with self.building(folder.name) as building:
            copy_tree(folder, building / folder.name)
            sync_tree(building / folder.name)
            self._publish(building / folder.name, folder.name)
        return True

    @property
    def _scratch(self) -> Path:
        return self.root / "scratch"

    def _writing(self, name: str) -> AbstractContextManager[None]:
        return refusals(f"write {name} to the store at {self.root}", _ELSEWHERE)

    def _reading(self) -> AbstractContextManager[None]:
        return refusals(
            f"read the store at {self.root}", "make it readable or choose another with --store"
        )


def _seal(folder: Path, kind: str, facts: Mapping[str, Any], made_with: dict[str, Any]) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    record = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "facts": facts,
        "files": {path.name: file_digest(path) for path in files},
        "made_with": {"python": platform.python_version(), **made_with},
    }
    write_json(folder / "run.json", record)
    sync_tree(folder)
