"""Coreference from CoNLL-2012 files: a row for each word, mentions as brackets in the last column.

`(12` begins a mention of the cluster 12, `12)` ends the one that began last, `(12)` is both, and
several are joined by `|`. Clusters belong to one part of a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.input_files import read_lines

FEWEST = 5
"""Columns: the document, the part, the word's number, the word, and after others the mentions."""
BEGIN, END = "#begin document", "#end document"
_BEGIN = re.compile(rf"{BEGIN} \((.+)\);(?: part (\d{{1,9}}))?")
_NUMBER = re.compile(r"\d{1,9}")
_MENTION = re.compile(r"(\()?(\d{1,9})(\))?")
_NONE = "-", "_", "*"
_BRACKETS = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
}  # fmt: skip
_TAKEN_OUT = "[WORD]"


@dataclass
class Part:
    """Of a document: its words, and by cluster the first and last word of each mention."""

    id: str
    words: list[str] = field(default_factory=list)
    clusters: dict[str, list[list[int]]] = field(default_factory=dict)


def is_conll2012(path: Path) -> bool:
    """`.gold_conll`, `.v4_auto_conll` and the like, or a `.conll` that begins with a document."""
    if path.suffix.endswith("_conll"):
        return True
    if path.suffix != ".conll":
        return False
    return next((line for line in read_lines(path, None) if line.strip()), "").startswith("#begin")


def load_conll2012(path: Path) -> list[Part]:
    """All parts of all documents of a file."""
    return list(read_conll2012(read_lines(path, None)))


def read_conll2012(lines: Iterable[str]) -> Iterator[Part]:
    """What is wrong is said of its line."""
    reader: _Reader | None = None
    place = 0
    for place, line in enumerate(lines, 1):
        line = line.strip()
        if line.startswith(BEGIN):
            if reader is not None:
                raise _missing_end(place)
            reader = _Reader(_id(line, place))
        elif line.startswith(END):
            if reader is None:
                raise HeedfulError(f"line {place} ends a document that never began: fix the file.")
            yield reader.ended()
            reader = None
        elif reader is not None:
            reader.read(line, place)
        elif line and not line.startswith("#"):
            raise HeedfulError(
                f"line {place} is in no document: begin it with '{BEGIN} (name); part 000'."
            )
    if reader is not None:
        raise _missing_end(place)


def _id(line: str, place: int) -> str:
    match = _BEGIN.fullmatch(line)
    if match is None:
        raise HeedfulError(
            f"line {place} begins a document without its name: write '{BEGIN} (name); part 000'."
        )
    name, part = match.groups()
    return f"{name} part {int(part or 0)}"


def _missing_end(place: int) -> HeedfulError:
    return HeedfulError(
        f"line {place} comes before the end of the last document: write '{END}' after each."
    )


class _Reader:
    """Of one part."""

    def __init__(self, id: str) -> None:
        self.part = Part(id)
        self._open: dict[str, list[tuple[int, int]]] = {}  # by cluster: word and line
        self._next: int | None = None  # the number of the sentence's next word

    def read(self, line: str, place: int) -> None:
        """A word, or the end of a sentence."""
        if not line:
            self._next = None
        elif not line.startswith("#"):
            columns = line.split()
            self._check(columns, place)
            self.part.words.append(_spelled(columns[3], place))
            self._mentions(columns[-1], place)

    def _check(self, columns: list[str], place: int) -> None:
        if len(columns) < FEWEST:
            raise HeedfulError(
                f"line {place} has {len(columns)} columns where CoNLL-2012 has {FEWEST} or more: "
                "the fourth is the word, the last its mentions."
            )
        number = int(columns[2]) if _NUMBER.fullmatch(columns[2]) else None
        if number is None or self._next not in (None, number):
            raise HeedfulError(
                f"line {place} has the word number {columns[2]!r} where "
                f"{'a number' if self._next is None else self._next} was to come: a row is "
                "missing or out of order, or an empty line between sentences."
            )
        self._next = number + 1

    def _mentions(self, cell: str, place: int) -> None:
        word = len(self.part.words) - 1
        for mention in [] if cell in _NONE else cell.split("|"):
            match = _MENTION.fullmatch(mention)
            if match is None or not (match[1] or match[3]):
                raise HeedfulError(
                    f"line {place} has {mention[:20]!r} for a mention: write (12, 12) or (12), "
                    "joined by |."
                )
            cluster = str(int(match[2]))
            opened = self._open.setdefault(cluster, [])
            if match[1]:
                opened.append((word, place))
            if match[3] and not opened:
                raise HeedfulError(
                    f"line {place} ends a mention of cluster {cluster} that never began: fix the "
                    "file."
                )
            if match[3]:
                first, _ = opened.pop()
                self.part.clusters.setdefault(cluster, []).append([first, word])

    def ended(self) -> Part:
        for cluster, opened in self._open.items():
            if opened:
                raise HeedfulError(
                    f"the mention of cluster {cluster} that begins in line {opened[-1][1]} never "
                    "ends: fix the file."
                )
        return self.part


def _spelled(word: str, place: int) -> str:
    """As people write it: OntoNotes spells brackets out, and some marks after a slash."""
    if word == _TAKEN_OUT:
        raise HeedfulError(
            f"line {place} has {_TAKEN_OUT} for its word: put the words of OntoNotes into the file "
            "first, by the script that comes with it."
        )
    return word[1] if len(word) == 2 and word[0] == "/" else _BRACKETS.get(word, word)
