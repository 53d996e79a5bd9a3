"""A folder of runs that many processes may share without a master.

A run is written under `scratch/`, its `run.json` last, brought to the disk, and moved into
`runs/` by one rename. So a run is there whole or not at all, and whoever loses a race finds
the winner's run: the first one stays, also where the last digits of another device differ.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store.files import (
    copy_tree,
    discard,
    make_folder,
    refusals,
    sync,
    sync_tree,
    unfinished,
)
from heedful.store.run import (
    KEY,
    RECORD,
    Damaged,
    Problem,
    Record,
    Run,
    canonical,
    file_digest,
    is_plain,
    run_key,
    write_json,
)
from heedful.store.tables import Frames, Types

Place = str | Path
"""A `Path` is always a folder; a text may be a URL, which a `Path` would spoil."""
_URL = re.compile(r"(?P<protocol>[A-Za-z][\w+.:-]*)://(?P<rest>.*)", re.DOTALL)
_SECRET = re.compile(r"[^/@]*:[^/]*@")


def url_of(place: Place) -> str | None:
    """The URL in its one spelling, or None for a folder."""
    found = _URL.fullmatch(place) if isinstance(place, str) else None
    if found is None:
        return None
    protocol, rest = found["protocol"], found["rest"].rstrip("/")
    if _SECRET.match(rest):
        raise HeedfulError(
            "the store's URL holds a password, which others could read: leave it out, and put it "
            "where fsspec finds it (https://filesystem-spec.readthedocs.io, Configuration)."
        )
    if protocol in ("file", "local"):
        return f"file://{os.path.abspath(os.path.expanduser(rest or '/'))}"
    return f"{protocol}://{rest}"


def cache_folder(url: str) -> Path:
    """The store in front of a URL: one for each, whoever works on this machine."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    chosen = os.environ.get("HEEDFUL_CACHE")
    if chosen:
        return Path(chosen).absolute() / name
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heedful" / name


_MARK = ".unfinished"
"""Not there if a folder was cleaned away while it was written and made again by a library."""


@dataclass(frozen=True)
class Writer:
    """Where a run under construction puts its files."""

    path: Path
    made_with: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str, table: pd.DataFrame) -> None:
        self.frames(name, Frames.of(table))

    def frames(self, name: str, table: Frames, types: Types | None = None) -> None:
        """A table in blocks; `types` are of columns that not every block shows."""
        table.write(self.path / f"{name}.parquet", types)

    def json(self, name: str, value: Any) -> None:
        write_json(self.path / f"{name}.json", value)

    def weights(self, name: str) -> Path:
        """The path a safetensors file is to be written to."""
        return self.path / f"{name}.safetensors"


class Store:
    """Of a folder. `heedful.store.store_at` also knows stores elsewhere."""

    _option = "--store"
    """With which another folder is chosen."""

    def __init__(self, root: str | Path) -> None:
        if url_of(root):
            raise HeedfulError(f"the store {root} is a URL: open it with `store_at`.")
        self.root = Path(root)
        with self._reading():
            if self.root.exists() and not self.root.is_dir():
                raise HeedfulError(
                    f"the store {self.root} is a file: choose a folder with {self._option}."
                )
        self._checked: set[str] = set()

    @property
    def place(self) -> Place:
        """By which any process can open the same store."""
        return self.root

    @property
    def _runs(self) -> Path:
        return self.root / "runs"

    def has(self, key: str) -> bool:
        """Whether a whole run is there. A damaged one is not silently made again."""
        if not self._is_here(key):
            return False
        self.open(key)
        return True

    def open(self, key: str) -> Run:
        """The run of this key; `Damaged` where it is not whole. It is checked once."""
        run = Run(self._runs / key, self)
        if not self._is_here(key):
            raise HeedfulError(
                f"no run {key!r} in {self.place}: `heedful store ls` lists the runs."
            )
        if key not in self._checked:
            problem = run.problem()
            if problem:
                raise Damaged(key, problem)
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

    def keys(self, kind: str | None = None) -> list[str]:
        """The keys of all runs, or of those of one kind."""
        return [key for key in self._keys_here() if kind is None or key.startswith(f"{kind}-")]

    def runs(self, kind: str | None = None) -> Iterator[Run]:
        for key in self.keys(kind):
            yield self.open(key)

    def find(self, kind: str, facts: Mapping[str, Any]) -> list[Run]:
        """The runs of a kind whose facts include these."""
        wanted = {name: canonical(value) for name, value in facts.items()}

        def fits(found: Mapping[str, Any]) -> bool:
            return all(canonical(found.get(name)) == value for name, value in wanted.items())

        return [self.open(key) for key in self.keys(kind) if fits(self.record(key).facts)]

    def record(self, key: str) -> Record:
        """What a run says of itself."""
        return self.open(key).record

    def scratch(self, key: str) -> Path:
        """A folder for unfinished work on a run (checkpoints); gone once the run is there."""
        path = self._scratch / key
        with self._writing(key):
            make_folder(path)
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
        return self._problems_here()

    def _problems_here(self) -> dict[str, Problem]:
        found = {key: Run(self._runs / key).problem() for key in self._keys_here()}
        return {key: problem for key, problem in found.items() if problem}

    def damaged(self) -> dict[str, str]:
        """Keys of runs that may not be read, each with the reason."""
        return {key: problem.reason for key, problem in self.problems().items()}

    def remove(self, key: str) -> None:
        """Remove a run, whole or damaged."""
        self._remove_here(key)

    def _remove_here(self, key: str) -> None:
        """By one rename, so that half a run is never there."""
        with self.building(key) as folder:
            (self._runs / key).rename(folder / key)
        self._checked.discard(key)

    def clear_damaged(self) -> list[str]:
        """Remove the runs that are lost; returns their keys."""
        lost = [key for key, problem in self._problems_here().items() if problem.lost]
        for key in lost:
            self._remove_here(key)
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
            fix = fix if KEY.fullmatch(folder.name) else "give a pack of runs"
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

    def _is_here(self, key: str) -> bool:
        with self._reading():
            return is_plain(key) and (self._runs / key).is_dir()

    def _keys_here(self) -> list[str]:
        with self._reading():
            if not self._runs.is_dir():
                return []
            return sorted(path.name for path in self._runs.iterdir() if path.is_dir())

    def _writing(self, name: str) -> AbstractContextManager[None]:
        fix = f"make it writable, make room or choose another with {self._option}"
        return refusals(f"write {name} to the store at {self.root}", fix)

    def _reading(self) -> AbstractContextManager[None]:
        fix = f"make it readable or choose another with {self._option}"
        return refusals(f"read the store at {self.root}", fix)


def store_of(run: Run) -> Store:
    """The store that a run was opened from, or the one its folder lies in."""
    return run.home if isinstance(run.home, Store) else Store(run.path.resolve().parent.parent)


def _seal(folder: Path, kind: str, facts: Mapping[str, Any], made_with: dict[str, Any]) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    digests = {path.name: file_digest(path) for path in files}
    made = {"python": platform.python_version(), **made_with}
    write_json(folder / RECORD, Record(kind, dict(facts), digests, made).as_json())
    sync_tree(folder)
