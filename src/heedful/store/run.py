"""A run: its key, what it says of itself (`run.json`), and its files, checked by their digests.

A key is the hash of what made the run; it says nothing of when, where or on what device. A record
may come from anywhere and is checked once, when it is read: whoever holds a `Record` can rely on
its parts. What a kind of run must say beyond that is asked with `Run.fact`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heedful.errors import HeedfulError
from heedful.schemas import is_newer, unread
from heedful.specs import ModelSpec, spec_from_plain
from heedful.store.files import why
from heedful.store.tables import SCHEMA_VERSION, Frames

KEY = re.compile(r"[a-z_]+-[0-9a-f]{16}")
RECORD = "run.json"
_AGAIN = "remove it with `heedful store gc --damaged` and run the command again"
_DEEPEST = 32
"""How deep facts may be nested: ours are about five."""
_LIST = ".folder.json"
_STRANGE = "make it again with this version of Heedful in another store"
_T = TypeVar("_T")


def canonical(value: Any) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN."""
    return json.dumps(_plain_value(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(kind: str, facts: Mapping[str, Any]) -> str:
    """`kind-` and 16 hexadecimal digits of the facts' hash."""
    digest = hashlib.sha256(canonical({"kind": kind, "facts": facts}).encode()).hexdigest()
    return f"{kind}-{digest[:16]}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _plain_value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_value(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)  # 1.0 and 1 are the same parameter
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a run key cannot hold a {type(value).__name__}")


@dataclass(frozen=True)
class Problem:
    """Why a run may not be read, and what fixes that. Only what is `lost` may be cleaned away:
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
class Record:
    """`facts` made the run, and their hash is its key. `files` are digests by plain names,
    `upstream` the keys of the runs it was made from, by role."""

    kind: str
    facts: dict[str, Any]
    files: dict[str, str]
    made_with: dict[str, Any]

    @property
    def upstream(self) -> dict[str, str]:
        return dict(self.facts.get("upstream", {}))

    def as_json(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


def parse_record(key: str, content: bytes) -> Record:
    """The record of the run of this key; `Damaged` where it is not."""
    try:
        return _checked(key, json.loads(content))
    except (ValueError, RecursionError) as error:
        raise Damaged(key, Problem("its run.json cannot be read")) from error


def is_plain(name: str) -> bool:
    """Whether a name is that of a file in a folder, and no way to another one."""
    return not {"/", "\\", "\0"} & set(name) and name not in ("", ".", "..")


def _checked(key: str, found: object) -> Record:
    """Raises ValueError where something is not of its kind."""
    record = _mapping(found)
    version = record.get("schema_version")
    if unread(version, SCHEMA_VERSION):
        raise Damaged(key, _other_version(version))
    kind, facts = str(record.get("kind")), _mapping(record.get("facts"))
    _check_depth(facts)
    if run_key(kind, facts) != key:
        raise Damaged(key, Problem("its folder's name is not the hash of its facts"))
    for upstream in _mapping(facts.get("upstream", {})).values():
        if not isinstance(upstream, str) or not KEY.fullmatch(upstream):
            raise ValueError(upstream)
    files, made_with = _mapping(record.get("files")), _mapping(record.get("made_with", {}))
    for name, digest in files.items():
        if not is_plain(name) or name == RECORD or not isinstance(digest, str):
            raise Damaged(key, Problem(f"its run.json lists {name!r}, which is no file of a run"))
    return Record(kind, facts, files, made_with)


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(value)
    return value


def _check_depth(facts: Mapping[str, Any]) -> None:
    level: list[Any] = [facts]
    for _ in range(_DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        raise ValueError("too deep")


def _other_version(version: object) -> Problem:
    """What a newer Heedful wrote may be whole."""
    reason = unread(version, SCHEMA_VERSION)
    if is_newer(version, SCHEMA_VERSION):
        return Problem(reason, "update Heedful", lost=False)
    return Problem(reason)


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
    def record(self) -> Record:
        """What the run says of itself; `Damaged` where that cannot be used."""
        return parse_record(self.key, (self.path / RECORD).read_bytes())

    @property
    def kind(self) -> str:
        return self.record.kind

    @property
    def facts(self) -> dict[str, Any]:
        """What made the run; its hash is the key."""
        return self.record.facts

    def fact(self, path: str, kind: type[_T]) -> _T:
        """What made the run, for readers that cannot do without: `prepare.tokenizer`."""
        value: Any = self.facts
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.unfit(f"its facts have no {path} of the kind {kind.__name__}")
        return value

    @property
    def spec(self) -> ModelSpec:
        """Of a model that was trained here."""
        try:
            return spec_from_plain(ModelSpec, self.fact("model", dict))
        except ValueError as error:
            raise self.unfit(f"its facts describe no model ({error})") from error

    @property
    def seed(self) -> int:
        return self.fact("seed", int)

    @property
    def upstream(self) -> dict[str, str]:
        """The keys of the runs this one was made from, by role."""
        return self.record.upstream

    def source(self, role: str) -> str:
        """The key of the run that this one was made from."""
        key = self.upstream.get(role)
        if key is None:
            raise self.unfit(f"its facts name no {role} that it was made from")
        return key

    def unfit(self, reason: str) -> Damaged:
        """For a run that is whole and says what no version of Heedful writes."""
        return Damaged(self.key, Problem(reason, _STRANGE, lost=False))

    @property
    def digest(self) -> str:
        """The digest of the contents: two runs with one digest hold the same bytes."""
        return run_key("content", self.record.files).removeprefix("content-")

    def problem(self) -> Problem | None:
        """Why this run may not be read, or None."""
        try:
            return self._damaged(self.record.files) or self._unlisted(self.record.files)
        except Damaged as error:
            return self._lost(error.problem.reason) if error.problem.lost else error.problem
        except FileNotFoundError:
            return self._lost("it has no run.json")
        except OSError as error:
            reason = f"it cannot be read ({why(error)})"
            return Problem(reason, "fix that and run the command again", lost=False)

    def _lost(self, reason: str) -> Problem:
        """A folder that no run is called like was put here by somebody else."""
        if KEY.fullmatch(self.key):
            return Problem(reason)
        return Problem(reason, f"move it out of {self.path.parent}", lost=False)

    def _damaged(self, files: Mapping[str, str]) -> Problem | None:
        for name, digest in files.items():
            path = self.path / name
            if not path.is_file():
                return Problem(f"its file {name} is missing")
            if file_digest(path) != digest:
                return Problem(f"its file {name} was changed")
        for name in _folders(files):
            changed = _changed(self.path, name)
            if changed:
                return Problem(f"its file {changed} was changed")
        return None

    def _unlisted(self, files: Mapping[str, str]) -> Problem | None:
        """What a run does not vouch for is no part of it, and may be somebody's own."""
        known = {RECORD, *files, *_folders(files)}
        others = sorted(path.name for path in self.path.iterdir() if path.name not in known)
        if not others:
            return None
        reason = f"its folder holds {others[0]!r}, which its run.json does not list"
        return Problem(reason, f"move that out of {self.path}", lost=False)

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
        return file in self.record.files

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
            there = ", ".join(file.partition(".")[0] for file in sorted(self.record.files))
            wanted = name.removesuffix(".parquet").removesuffix(".json")
            raise HeedfulError(f"run {self.key} holds no {wanted!r}: it has {there}.")
        return self.path / name


def write_json(path: Path, value: Any) -> None:
    path.write_text(canonical(value) + "\n", encoding="utf8")


def write_folder(path: Path) -> None:
    """Make a folder beside a run's files part of the run: the list of its files' digests is a
    file of the run. To be called once the folder is filled."""
    write_json(path.with_name(path.name + _LIST), _files(path))


def _files(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def _folders(files: Iterable[str]) -> list[str]:
    """The folders among a run's parts."""
    return [name.removesuffix(_LIST) for name in files if name.endswith(_LIST)]


def _changed(run: Path, name: str) -> str | None:
    """A file of a folder that is not what it was, is gone or is new."""
    try:
        listed = json.loads((run / f"{name}{_LIST}").read_bytes())
    except (ValueError, RecursionError):
        listed = None
    if not is_plain(name) or not isinstance(listed, dict):
        return f"{name}{_LIST}"
    found = _files(run / name)
    changed = [file for file in {**listed, **found} if listed.get(file) != found.get(file)]
    return f"{name}/{min(changed)}" if changed else None
