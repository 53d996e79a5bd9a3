"""Sentences with tags and arcs from CoNLL-U files, and the texts of a corpus among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.data.prepared import Split
from heedful.errors import HeedfulError
from heedful.input_files import read_lines

COLUMNS = 10
_WORD = re.compile(r"[0-9]{1,9}")
_SKIPPED = re.compile(r"\d+[-.]\d+")  # words written together, and empty nodes


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence and the head of each: words are numbered from 0, the root's head
    is −1. `labels` are the relations to the heads, `tags` the universal parts of speech; `glued`
    marks words that no blank follows."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...] = ()
    glued: tuple[bool, ...] = ()
    id: str = ""
    tags: tuple[str, ...] = ()


def load_conllu(path: Path) -> list[Sentence]:
    """All sentences of a file."""
    return list(read_conllu(line.rstrip("\n") for line in read_lines(path, None)))


def read_conllu(lines: Iterable[str]) -> Iterator[Sentence]:
    """Sentences end at an empty line; what is wrong with one is said of its id, or its number."""
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
        raise HeedfulError(f"line {place} has no number for its word or its head: fix the file.")
    return [columns]


def _sentence(name: str, rows: list[list[str]]) -> Sentence:
    heads = tuple(int(row[6]) - 1 for row in rows)
    if [int(row[0]) for row in rows] != list(range(1, len(rows) + 1)):
        raise HeedfulError(f"the words of sentence {name!r} are not numbered 1, 2, …: fix them.")
    if any(head >= len(rows) or head == word for word, head in enumerate(heads)):
        raise HeedfulError(f"a head in sentence {name!r} is no other word of it: fix the file.")
    glued = tuple("SpaceAfter=No" in row[9].split("|") for row in rows)
    words, tags, labels = (tuple(row[column] for row in rows) for column in (1, 3, 7))
    return Sentence(words, heads, labels, glued, name, tags)


def heads_by_id(split: Split, sentences: Sequence[Sentence]) -> dict[str, NDArray[np.bool_]]:
    """For the texts of side a that are among the sentences: `[t, t]` over their real tokens,
    True from each token of a word to each of its head. The root's rows are empty.

    A text is a sentence's when both are the same but for blanks, whatever either's tokens are;
    tokens then belong to the word in which they begin.
    """
    known = {_letters("".join(sentence.words)): sentence for sentence in sentences}
    found = {}
    for i, name in enumerate(split.ids):
        sentence = known.get(_letters(split.text(i)))
        if sentence is not None:
            words = _word_numbers(split, i, sentence)
            found[name] = np.asarray(sentence.heads, dtype=np.int64)[words][:, None] == words
    return found


class TaggedText:
    """The words of all sentences in a row, with their tags: a text is known if it is one sentence
    of the file or several that follow each other, but for blanks."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.tags = [tag for sentence in sentences for tag in sentence.tags]
        words = [_letters(word) for sentence in sentences for word in sentence.words]
        self.letters = "".join(words)
        sizes = np.array([len(word) for word in words], dtype=np.int64)
        self.owner = np.repeat(np.arange(len(words)), sizes)
        counts = np.cumsum([0, *(len(sentence.words) for sentence in sentences)])
        self.edges = set(np.concatenate([[0], np.cumsum(sizes)])[counts].tolist())

    def of(self, split: Split, index: int) -> list[str] | None:
        """A tag for each real token of side a: that of the word in which it begins."""
        text = split.text(index)
        letters = _letters(text)
        place = self._find(letters)
        if place is None:
            return None
        starts = np.asarray(split.sides["a"].starts[index], dtype=np.int64)
        before = np.cumsum([0] + [not character.isspace() for character in text])
        places = np.minimum(place + before[starts], len(self.owner) - 1)
        return [self.tags[word] for word in self.owner[places]]

    def _find(self, letters: str) -> int | None:
        """Where the letters stand from the start of a sentence to the end of one."""
        place = self.letters.find(letters) if letters else -1
        while place >= 0:
            if place in self.edges and place + len(letters) in self.edges:
                return place
            place = self.letters.find(letters, place + 1)
        return None


def _letters(text: str) -> str:
    return "".join(text.split())


def _word_numbers(split: Split, i: int, sentence: Sentence) -> NDArray[np.int64]:
    """The number of each real token's word."""
    text, starts = split.text(i), np.asarray(split.sides["a"].starts[i], dtype=np.int64)
    before = np.cumsum([0] + [not character.isspace() for character in text])
    sizes = [len(_letters(word)) for word in sentence.words]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    numbers: NDArray[np.int64] = owner[np.minimum(before[starts], len(owner) - 1)]
    return numbers
