"""What corpora of natural language inference share: a premise, a hypothesis and a relation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heedful.corpora.example import Example
from heedful.corpora.files import Row, read_rows
from heedful.errors import HeedfulError

# jain2019 numbers the classes in this order: its Table 1 has 3219, 3237 and 3368 test pairs of
# the classes 0, 1 and 2, which are SNLI's counts of these three.
LABELS = ("neutral", "contradiction", "entailment")
NO_GOLD = "-"
COLUMNS = ("premise", "hypothesis", "label")


def read_pairs(path: Path, corpus: str, split: str) -> tuple[list[Example], int]:
    """The pairs of a file, and how many had no gold label and were left out. A name is a
    pair's place in its file, so leaving some out renames none."""
    return labelled(read_rows(path, COLUMNS), corpus, split, path.name)


def labelled(rows: Iterable[Row], corpus: str, split: str, where: str) -> tuple[list[Example], int]:
    examples, without = [], 0
    for number, row in enumerate(rows):
        if row["label"] in (NO_GOLD, None, ""):
            without += 1
        else:
            examples.append(_pair(row, f"{corpus}-{split}-{number:06d}", split, where))
    return examples, without


def _pair(row: Row, name: str, split: str, where: str) -> Example:
    """The premise is attended: side a. The hypothesis asks: side b."""
    texts = {"a": row["premise"], "b": row["hypothesis"]}
    if not all(isinstance(text, str) for text in texts.values()):
        raise HeedfulError(f"{name} of {where} lacks a text: give it a premise and a hypothesis.")
    return Example(name, split, texts, relation(row["label"], name, where))


def relation(label: str, name: str, where: str) -> int:
    if label not in LABELS:
        known = ", ".join(LABELS)
        raise HeedfulError(f"{name} of {where} has label {label!r}, the classes are {known}.")
    return LABELS.index(label)
