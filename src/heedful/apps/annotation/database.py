"""A study on disk: one SQLite file that survives a kill at any moment.

Readers and writers do not wait for each other (WAL), a commit is on the disk before it
returns (`synchronous=FULL`), and every change is one transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.apps.annotation.items import Item
from heedful.errors import HeedfulError
from heedful.schemas import check_version
from heedful.store import FileKind, check_file

RELEVANCE, RATIONALE = "relevance", "rationale"
TASKS = (RELEVANCE, RATIONALE)
VERSION = 1
MARK = 0x48454544  # "HEED": no other program's database
WAIT = 20.0  # seconds for another writer to finish

_SCHEMA = """
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE items (number INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
CREATE TABLE annotators (
    name TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, places TEXT NOT NULL) STRICT;
CREATE TABLE answers (
    annotator TEXT NOT NULL REFERENCES annotators, item INTEGER NOT NULL REFERENCES items,
    value TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (annotator, item)) STRICT;
CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    annotator TEXT NOT NULL REFERENCES annotators, item INTEGER NOT NULL REFERENCES items,
    value TEXT, before TEXT, undoes INTEGER UNIQUE REFERENCES history, request TEXT NOT NULL,
    at TEXT NOT NULL, UNIQUE (annotator, request)) STRICT;
"""
STUDY = FileKind("a study")
"""Never replaced: people have answered it."""


@dataclass(frozen=True)
class Plan:
    """A study before anybody has answered it."""

    task: str
    items: tuple[Item, ...]
    facts: Mapping[str, Any]


@contextmanager
def whole_study(path: Path) -> Iterator[Path]:
    """A path to build a new file at; it appears whole when the block ends, or not at all."""
    check_file(path, STUDY)
    draft = path.with_name(f"{path.name}.unfinished")
    try:
        _remove(draft)
        yield draft
        draft.rename(path)
    except (sqlite3.Error, OSError) as error:  # a full disk, no rights
        raise HeedfulError(
            f"cannot write {path} ({error}): make room, or give another place with -o."
        ) from error
    finally:
        _remove(draft)


def _remove(draft: Path) -> None:
    """With the files that SQLite keeps beside it."""
    for ending in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            draft.with_name(f"{draft.name}{ending}").unlink()


def create(path: Path, plan: Plan, key: str) -> None:
    """A new file; `key` opens the results."""
    known = {"task": plan.task, "key": key, **plan.facts}
    with (
        whole_study(path) as draft,
        closing(sqlite3.connect(draft, isolation_level=None)) as db,
    ):
        db.executescript(f"PRAGMA application_id={MARK}; PRAGMA user_version={VERSION}; {_SCHEMA}")
        with written(db):
            study = [(name, json.dumps(value)) for name, value in known.items()]
            db.executemany("INSERT INTO study VALUES (?, ?)", study)
            items = [(item.number, item.to_json()) for item in plan.items]
            db.executemany("INSERT INTO items VALUES (?, ?)", items)
        db.execute("PRAGMA journal_mode=WAL")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A new connection; threads and processes never share one."""
    if not path.is_file():
        raise HeedfulError(f"there is no study at {path}: make one with `heedful annotate new`.")
    try:
        with closing(sqlite3.connect(path, timeout=WAIT, isolation_level=None)) as db:
            _check(db, path)
            db.execute("PRAGMA synchronous=FULL")
            db.execute("PRAGMA foreign_keys=ON")
            yield db
    except sqlite3.Error as error:  # a full disk, no rights, another program that holds the file
        if type(error) is sqlite3.DatabaseError or "no such" in str(error):
            raise _damaged(path) from error
        raise Refusal(
            503, f"{path.name} cannot be used ({error}): make room, fix its rights, try again."
        ) from error


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """Refuse a file that another program has changed."""
    try:
        yield
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> Refusal:
    again = "take a copy of it, or make it again with `heedful annotate new`"
    return Refusal(503, f"{path} cannot be used because it is damaged: {again}.")


@contextmanager
def written(db: sqlite3.Connection) -> Iterator[None]:
    """One exclusive transaction, on disk when it ends."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _check(db: sqlite3.Connection, path: Path) -> None:
    try:
        ((mark,),) = db.execute("PRAGMA application_id").fetchall()
        ((version,),) = db.execute("PRAGMA user_version").fetchall()
    except sqlite3.DatabaseError as error:
        raise HeedfulError(f"{path} is no study: give a file of `heedful annotate new`.") from error
    if mark != MARK:
        raise HeedfulError(f"{path} is no study: give a file of `heedful annotate new`.")
    check_version(str(path), version, VERSION, "use the Heedful that made it, or make it again")


class Refusal(HeedfulError):
    """One sentence, an HTTP status, and further facts for the client."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status = status
        self.more = more
