"""Sentences with dependency arcs and mentions, from CoNLL-U.

Of each line the form, the head, the relation and, in the last column, CorefUD's `Entity` are
read. Of an entity's brackets only the name before the first hyphen counts: `(e1-person-1` opens
a mention of e1, `e1)` closes its latest one, `(e2-place)` is a mention of one word. Mentions in
several parts and those that go on in the next sentence are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import HeedfulError

COLUMNS = 10
_WORD = re.compile(r"\d+")
_SKIPPED = re.compile(r"\d+[-.]\d+")  # words written together, and empty nodes
_BRACKET = re.compile(r"\((?P<opened>[^-()]+)[^()]*(?P<at_once>\))?|(?P<closed>[^-()]+)[^()]*\)")


@dataclass(frozen=True)
class Mention:
    """Words `start` … `end` − 1 that name an entity."""

    entity: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """Words are numbered from 0; the root's head is −1."""

    id: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    mentions: tuple[Mention, ...] = ()


def load_conllu(path: Path) -> list[Sentence]:
    try:
        text = path.read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise HeedfulError(f"cannot read {path}: give a CoNLL-U file in UTF-8.") from error
    return list(read_conllu(text.splitlines()))


def read_conllu(lines: Iterable[str]) -> Iterator[Sentence]:
    """Sentences end at an empty line; those without an id are numbered from 1."""
    name, words, number = "", list[list[str]](), 0
    for place, line in enumerate([*lines, ""], 1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            name = value.strip() if key.strip() == "sent_id" else name
        elif line.strip():
            words += _columns(line, place)
        elif words:
            number += 1
            yield _sentence(name or str(number), words)
            name, words = "", []


def _columns(line: str, place: int) -> list[list[str]]:
    columns = line.split("\t")
    if len(columns) != COLUMNS:
        raise HeedfulError(
            f"line {place} has {len(columns)} columns where CoNLL-U has {COLUMNS}: separate them "
            f"by tabs."
        )
    if _SKIPPED.fullmatch(columns[0]):
        return []
    if not _WORD.fullmatch(columns[0]) or not _WORD.fullmatch(columns[6]):
        raise HeedfulError(f"line {place} has no number for its word or its head: mend the file.")
    return [columns]


def _sentence(name: str, rows: list[list[str]]) -> Sentence:
    heads = tuple(int(row[6]) - 1 for row in rows)
    if [int(row[0]) for row in rows] != list(range(1, len(rows) + 1)):
        raise HeedfulError(f"the words of sentence {name!r} are not numbered 1, 2, …: mend them.")
    if any(head >= len(rows) or head == word for word, head in enumerate(heads)):
        raise HeedfulError(f"a head in sentence {name!r} is no other word of it: mend the file.")
    return Sentence(
        name,
        tuple(row[1] for row in rows),
        heads,
        tuple(row[7] for row in rows),
        tuple(_mentions([_entity(row[9]) for row in rows])),
    )


def _entity(misc: str) -> str:
    fields = dict(part.partition("=")[::2] for part in misc.split("|"))
    return fields.get("Entity", "")


def _mentions(marks: list[str]) -> Iterator[Mention]:
    opened: dict[str, list[int]] = {}
    for word, mark in enumerate(marks):
        for found in _BRACKET.finditer(mark):
            name = found["opened"] or found["closed"]
            if "[" in name:  # a part of a mention
                continue
            if found["opened"]:
                opened.setdefault(name, []).append(word)
            if (found["closed"] or found["at_once"]) and opened.get(name):
                yield Mention(name, opened[name].pop(), word + 1)
