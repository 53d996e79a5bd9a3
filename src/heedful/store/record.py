"""Keys and records: a run is named by what made it, and says of itself what it is (`run.json`).

A key says nothing of when, where or on what device. A record may come from anywhere and is checked
here once: whoever holds a `Record` need not ask again whether its parts are what they should be;
what a kind of run must say beyond that is asked with `Run.fact`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.schemas import is_newer, unread
from heedful.store.frames import SCHEMA_VERSION


def canonical(value: Any) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN."""
    return json.dumps(_plain_value(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(kind: str, facts: Mapping[str, Any]) -> str:
    """`kind-` and 16 hexadecimal digits of the facts' hash."""
    digest = hashlib.sha256(canonical({"kind": kind, "facts": facts}).encode()).hexdigest()
    return f"{kind}-{digest[:16]}"


def file_digest(path: Path) -> str:
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


KEY = re.compile(r"[a-z_]+-[0-9a-f]{16}")
RECORD = "run.json"
_AGAIN = "remove it with `heedful store gc --damaged` and run the command again"
_DEEPEST = 32
"""How deep facts may be nested: ours are about five."""


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
