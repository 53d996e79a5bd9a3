"""A study that is being answered, by many annotators at once.

An answer is acknowledged after its transaction is on disk, never before. There is one answer per
item and annotator; earlier answers stay in the history.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heedful.apps.annotation.database import (
    RELEVANCE,
    TASKS,
    Plan,
    Refusal,
    as_written,
    create,
    opened,
    whole_study,
    written,
)
from heedful.apps.annotation.items import Item, item_of
from heedful.hashing import stable_hash

JUDGEMENTS = ("yes", "no", "unsure")


@dataclass(frozen=True)
class Annotator:
    """`places` are the numbers of the items in this annotator's own order."""

    name: str
    token: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """`before` is the answer that the annotator's page has shown, so that a stale page overwrites
    nothing. `request` names the attempt, so that it can be repeated."""

    item: int
    value: Any
    before: Any
    request: str


class Study:
    """May be shared by threads: each call has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Annotator] = {}
        self._writing = threading.Lock()  # SQLite's own waiting is by sleeping, and not in turn
        with opened(path) as db, as_written(path):
            known = {name: json.loads(value) for name, value in db.execute("SELECT * FROM study")}
            rows = db.execute("SELECT content FROM items ORDER BY number").fetchall()
            self.task: str = TASKS[TASKS.index(known.pop("task"))]
            self.key: str = known.pop("key")
            self.facts: Mapping[str, Any] = known
            self.items: Mapping[int, Item] = {
                item.number: item for item in (item_of(content) for (content,) in rows)
            }

    def annotators(self) -> list[Annotator]:
        with opened(self.path) as db, as_written(self.path):
            rows = db.execute("SELECT name, token, places FROM annotators ORDER BY rowid")
            return [Annotator(name, token, _places(places)) for name, token, places in rows]

    def annotator(self, token: str) -> Annotator:
        """The annotator of a link, read from disk once."""
        if token not in self._known:
            asked = "SELECT name, places FROM annotators WHERE token = ?"
            with opened(self.path) as db:
                row = db.execute(asked, (token,)).fetchone()
            if row is None:
                raise Refusal(401, "nobody was invited by this link: ask for a new one.")
            self._known[token] = Annotator(row[0], token, _places(row[1]))
        return self._known[token]

    def invite(self, invited: list[Annotator]) -> None:
        with self._writing, opened(self.path) as db, written(db):
            _invite(db, invited)

    def answers(self, name: str) -> dict[int, Any]:
        """One annotator's answers by item."""
        with opened(self.path) as db, as_written(self.path):
            asked = "SELECT item, value FROM answers WHERE annotator = ?"
            return {item: read(self.task, value) for item, value in db.execute(asked, (name,))}

    def everybody(self) -> dict[str, dict[int, Any]]:
        """All answers by annotator and item."""
        with opened(self.path) as db:
            rows = db.execute("SELECT annotator, item, value FROM answers").fetchall()
        found: dict[str, dict[int, Any]] = {}
        with as_written(self.path):
            for name, item, value in rows:
                found.setdefault(name, {})[item] = read(self.task, value)
        return found

    def changes(self) -> int:
        """A number that grows with every change."""
        with opened(self.path) as db:
            ((last,),) = db.execute("SELECT coalesce(max(id), 0) FROM history").fetchall()
        return int(last)

    def answer(self, name: str, answer: Answer) -> None:
        """Returns when the answer is on disk. Repeating a request changes nothing."""
        item = self._item(answer.item)
        value = stored(self.task, item, answer.value)
        before = None if answer.before is None else stored(self.task, item, answer.before)
        with self._writing, opened(self.path) as db, written(db):
            if _known(db, name, answer.request) is not None:
                return
            now = _now(db, name, item.number)
            if now not in (before, value):
                said = read(self.task, now)
                raise Refusal(409, "this item was answered elsewhere in the meantime.", value=said)
            if now != value:
                _change(db, (name, item.number), value, now, answer.request)

    def undo(self, name: str, request: str) -> int | None:
        """Take back the last answer that was not taken back yet; the one before it stands again.
        Returns the item, or None where there is nothing to undo."""
        with self._writing, opened(self.path) as db, written(db):
            done = _known(db, name, request)
            if done is not None:
                return done
            last = db.execute(
                "SELECT id, item, value, before FROM history AS h WHERE annotator = ? AND undoes "
                "IS NULL AND NOT EXISTS (SELECT 1 FROM history WHERE undoes = h.id) "
                "ORDER BY id DESC LIMIT 1",
                (name,),
            ).fetchone()
            if last is None:
                return None
            number, item, value, before = last
            _change(db, (name, item), before, value, request, number)
            return int(item)

    def check(self, answers: Mapping[str, Mapping[int, Any]]) -> None:
        """Refuse answers from elsewhere that do not belong to this study."""
        for name, said in answers.items():
            if not name.strip():
                raise Refusal(422, f"an annotator is called {name!r}: give everybody a name.")
            for number, value in said.items():
                try:
                    self._stored(number, value)
                except Refusal as error:
                    raise Refusal(error.status, f"{name} on item {number}: {error}") from error

    def take(
        self,
        answers: Mapping[str, Mapping[int, Any]],
        source: str,
        invited: Sequence[Annotator] = (),
    ) -> int:
        """Store answers from elsewhere and the newly `invited`, all or none; returns how many
        answers are new."""
        new = 0
        with self._writing, opened(self.path) as db, written(db):
            _invite(db, invited)
            for name, said in answers.items():
                for number, value in said.items():
                    wanted, now = self._stored(number, value), _now(db, name, number)
                    if now not in (None, wanted):
                        raise Refusal(
                            409, f"{name} has answered item {number} otherwise: nothing was taken."
                        )
                    if now is None:
                        request = f"{source}:{number}:{_clock()}"
                        _change(db, (name, number), wanted, None, request)
                        new += 1
        return new

    def _stored(self, number: int, value: Any) -> str:
        return stored(self.task, self._item(number), value)

    def _item(self, number: int) -> Item:
        if number not in self.items:
            raise Refusal(
                404, f"there is no item {number}: they go from 0 to {len(self.items) - 1}."
            )
        return self.items[number]


def _invite(db: sqlite3.Connection, invited: Sequence[Annotator]) -> None:
    rows = [(each.name, each.token, json.dumps(each.places)) for each in invited]
    db.executemany("INSERT INTO annotators VALUES (?, ?, ?)", rows)


def _change(
    db: sqlite3.Connection,
    where: tuple[str, int],
    value: str | None,
    before: str | None,
    request: str,
    undoes: int | None = None,
) -> None:
    at = _clock()
    if value is None:
        db.execute("DELETE FROM answers WHERE annotator = ? AND item = ?", where)
    else:
        db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (*where, value, at))
    db.execute(
        "INSERT INTO history (annotator, item, value, before, undoes, request, at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*where, value, before, undoes, request, at),
    )


def _known(db: sqlite3.Connection, name: str, request: str) -> int | None:
    """The item of a request that was stored before, whose acknowledgement was lost."""
    asked = "SELECT item FROM history WHERE annotator = ? AND request = ?"
    row = db.execute(asked, (name, request)).fetchone()
    return None if row is None else int(row[0])


def _now(db: sqlite3.Connection, name: str, item: int) -> str | None:
    asked = "SELECT value FROM answers WHERE annotator = ? AND item = ?"
    row = db.execute(asked, (name, item)).fetchone()
    return None if row is None else str(row[0])


def _places(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


def _clock() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_study(path: Path, plan: Plan, count: int) -> list[Annotator]:
    """A study and its first annotators, created together or not at all."""
    with whole_study(path) as draft:
        create(draft, plan, key=secrets.token_urlsafe(12))
        return invite(Study(draft), count)


def invite(study: Study, count: int) -> list[Annotator]:
    """`count` more annotators, named by numbers."""
    there = {each.name for each in study.annotators()}
    free = (f"annotator {n}" for n in range(1, len(there) + count + 1))
    invited = annotators(study, [name for name in free if name not in there][:count])
    study.invite(invited)
    return invited


def annotators(study: Study, names: list[str]) -> list[Annotator]:
    """Not invited yet. The order of items depends only on the study's seed and the name; the token
    is random."""
    seed = study.facts["seed"]
    return [
        Annotator(
            name,
            secrets.token_urlsafe(12),
            tuple(sorted(study.items, key=lambda item: stable_hash(seed, "place", name, item))),
        )
        for name in names
    ]


def stored(task: str, item: Item, value: Any) -> str:
    """An answer in its canonical, stored form."""
    if task == RELEVANCE:
        if not isinstance(value, str) or value not in JUDGEMENTS:
            raise Refusal(422, f"the answer must be one of {', '.join(JUDGEMENTS)}.")
        return str(value)
    whole = isinstance(value, list) and all(type(each) is int for each in value)
    if not whole or not all(0 <= each < item.length for each in value):
        raise Refusal(
            422, f"the answer must be a list of numbers of words, from 0 to {item.length - 1}."
        )
    return json.dumps(sorted(set(value)))


def read(task: str, value: str | None) -> Any:
    """The inverse: a word, or a list of numbers of words; None for no answer."""
    return value if task == RELEVANCE or value is None else json.loads(value)
