"""A finished run, read back: tables, JSON and weights, each checked against its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heedful.errors import HeedfulError
from heedful.schemas.versions import is_newer, unread
from heedful.store.files import why
from heedful.store.frames import SCHEMA_VERSION, Frames
from heedful.store.keys import canonical, file_digest, run_key

_LIST = ".folder.json"
KEY = re.compile(r"[a-z_]+-[0-9a-f]{16}")
_NO_RECORD = "its run.json cannot be read"
_AGAIN = "remove it with `heedful store gc --damaged` and run the command again"


@dataclass(frozen=True)
class Problem:
    """Why a run may not be read, and what mends that. Only what is `lost` may be cleaned away:
    what a newer Heedful wrote, or a disk does not give out just now, may be whole."""

    reason: str
    fix: str = _AGAIN
    lost: bool = True


class Damaged(HeedfulError):
    """A run that is there and may not be read."""

    def __init__(self, key: str, problem: Problem) -> None:
        super().__init__(key, problem)
        self.key, self.problem = key, problem

    def __str__(self) -> str:
        return f"run {self.key} cannot be used because {self.problem.reason}: {self.problem.fix}."


@dataclass(frozen=True)
class Run:
    """A folder whose `run.json` lists files with matching digests. `home` is the store that
    opened it; it may know where the runs are that this one was made from."""

    path: Path
    home: object = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> str:
        return self.path.name

    @cached_property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf8"))
        return record

    @property
    def kind(self) -> str:
        return str(self.record["kind"])

    @property
    def facts(self) -> dict[str, Any]:
        """What made the run; its hash is the key."""
        facts: dict[str, Any] = self.record["facts"]
        return facts

    @property
    def upstream(self) -> dict[str, str]:
        """The keys of the runs this one was made from, by role."""
        return dict(self.facts.get("upstream", {}))

    @property
    def digest(self) -> str:
        """The digest of the contents: two runs with one digest hold the same bytes."""
        return run_key("content", self.record["files"]).removeprefix("content-")

    def problem(self) -> Problem | None:
        """Why this run may not be read, or None."""
        try:
            problem = record_problem(self.key, self.record)
            if problem is not None:
                return problem if not problem.lost else self._lost(problem.reason)
            reason = self._damaged(self.record["files"])
        except FileNotFoundError:
            reason = "it has no run.json"
        except OSError as error:
            return _unreadable(error)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            reason = _NO_RECORD
        return self._lost(reason) if reason else None

    def _lost(self, reason: str) -> Problem:
        """A folder that no run is called like was put here by somebody else."""
        if KEY.fullmatch(self.key):
            return Problem(reason)
        return Problem(reason, f"move it out of {self.path.parent}", lost=False)

    def _damaged(self, files: dict[str, str]) -> str | None:
        for name, digest in files.items():
            path = self.path / name
            if not path.is_file():
                return f"its file {name} is missing"
            if file_digest(path) != digest:
                return f"its file {name} was changed"
        for name in files:
            if name.endswith(_LIST):
                changed = _changed(self.path, name.removesuffix(_LIST))
                if changed:
                    return f"its file {changed} was changed"
        return None

    def table(self, name: str) -> pd.DataFrame:
        with self._readable(f"{name}.parquet") as path:
            return pd.DataFrame(pq.read_table(path).to_pandas())

    def frames(self, name: str) -> Frames:
        """A table that may be too large to be held whole."""
        return Frames(partial(self._blocks, f"{name}.parquet"))

    def _blocks(self, file: str) -> Iterator[pd.DataFrame]:
        with self._readable(file) as path:
            yield from Frames.at(path)

    def json(self, name: str) -> Any:
        with self._readable(f"{name}.json") as path:
            return json.loads(path.read_text(encoding="utf8"))

    def weights(self, name: str) -> Path:
        return self._file(f"{name}.safetensors")

    def folder(self, name: str) -> Path:
        """A folder of files in a format of their own, such as a Hugging Face model's."""
        return self._file(f"{name}{_LIST}").parent / name

    def has(self, file: str) -> bool:
        return file in self.record["files"]

    @contextmanager
    def _readable(self, name: str) -> Iterator[Path]:
        """A file that was whole when the run was opened may be gone or cut by now."""
        path = self._file(name)
        try:
            yield path
        except (OSError, ValueError, pa.ArrowException) as error:
            raise HeedfulError(
                f"run {self.key} cannot be used because its file {name} cannot be read: "
                f"see what `heedful store verify` says."
            ) from error

    def _file(self, name: str) -> Path:
        if not self.has(name):
            there = ", ".join(file.partition(".")[0] for file in sorted(self.record["files"]))
            wanted = name.removesuffix(".parquet").removesuffix(".json")
            raise HeedfulError(f"run {self.key} holds no {wanted!r}: it has {there}.")
        return self.path / name


def record_problem(key: str, record: dict[str, Any]) -> Problem | None:
    """Why a record is not that of the run, or None; its files are another question."""
    try:
        version = record.get("schema_version")
        if unread(version, SCHEMA_VERSION):
            return _other_version(version)
        if run_key(record["kind"], record["facts"]) != key:
            return Problem("its folder's name is not the hash of its facts")
        if not _keys(record["facts"].get("upstream", {})):
            return Problem(_NO_RECORD)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Problem(_NO_RECORD)
    return None


def _keys(upstream: object) -> bool:
    """Whether these are keys of runs, by role."""
    return isinstance(upstream, dict) and all(isinstance(key, str) for key in upstream.values())


def write_json(path: Path, value: Any) -> None:
    path.write_text(canonical(value) + "\n", encoding="utf8")


def write_folder(path: Path) -> None:
    """Make a folder beside a run's files part of the run: the list of its files' digests is a
    file of the run. To be called once the folder is filled."""
    write_json(path.with_name(path.name + _LIST), _files(path))


def _other_version(version: object) -> Problem:
    """What a newer Heedful wrote may be whole."""
    reason = unread(version, SCHEMA_VERSION)
    if is_newer(version, SCHEMA_VERSION):
        return Problem(reason, "update Heedful", lost=False)
    return Problem(reason)


def _unreadable(error: OSError) -> Problem:
    reason = f"it cannot be read ({why(error)})"
    return Problem(reason, "mend that and run the command again", lost=False)


def _files(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def _changed(run: Path, name: str) -> str | None:
    """A file of a folder that is not what it was, is gone or is new."""
    listed = json.loads((run / f"{name}{_LIST}").read_text(encoding="utf8"))
    found = _files(run / name)
    changed = [file for file in {**listed, **found} if listed.get(file) != found.get(file)]
    return f"{name}/{min(changed)}" if changed else None
