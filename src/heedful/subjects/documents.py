"""From what a user calls their data to documents: sampled, clustered, with words and labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from heedful.corpora import CORPORA
from heedful.corpora.splitting import pick
from heedful.errors import HeedfulError, unknown_name
from heedful.store import canonical
from heedful.subjects.columns import table_records
from heedful.subjects.document import Document, Span
from heedful.subjects.reading import Reading, reading_of
from heedful.subjects.records import Record, Records
from heedful.subjects.words import split_words

EMPTY = "without words"
Words = Mapping[str, tuple[Span, ...]]


@dataclass(frozen=True)
class Documents:
    """Documents and where they come from. A document's label is a place in `label_names`;
    `marks` are the labels by name, of which a document may have several (its label is then
    None). `numbered` says that the order of the names is the data's own."""

    items: tuple[Document, ...]
    label_names: tuple[str, ...]
    source: str
    digest: str
    marks: tuple[tuple[str, ...] | None, ...]
    numbered: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    label_column: str | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Document:
        return self.items[index]


def read_documents(data: Any, **options: Any) -> Documents:
    """`data` is a corpus by name, a CSV, TSV, JSONL or Parquet file, a data frame, a
    `datasets.Dataset` or a list of dicts; the options are those of `Reading`."""
    reading = reading_of(**options)
    return documents_of(find_records(data, reading), reading)


def find_records(data: Any, reading: Reading) -> Records:
    if isinstance(data, str) and data in CORPORA and data != "file":
        from heedful.subjects.named import named_records

        return named_records(data, reading)
    if isinstance(data, str) and not Path(data).suffix and not Path(data).exists():
        raise unknown_name("corpus", data, [*(n for n in CORPORA if n != "file"), "a file's path"])
    reading.refuse_params("a table")
    return table_records(data, reading)


def documents_of(records: Records, reading: Reading) -> Documents:
    """A text without words is passed over, and counted, where the sample would have it."""
    _check_ids(records.items)
    spans = _sample(records.items, reading)
    chosen = [record for record in records.items if spans.get(record.id)]
    if not chosen:
        raise HeedfulError(f"no text of {records.source} has a word in it: check the text column.")
    clusters = _clusters(records.items)
    places = {name: index for index, name in enumerate(records.label_names)}
    items = tuple(
        _document(record, spans[record.id], places, clusters[record.id]) for record in chosen
    )
    marks = tuple(record.labels for record in chosen)
    empty = len(spans) - len(chosen)
    return Documents(
        items,
        records.label_names,
        records.source,
        _digest(items, marks),
        marks,
        records.numbered,
        {**records.dropped, EMPTY: empty} if empty else dict(records.dropped),
        reading.label_column,
    )


def inside(words: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Which words overlap one of the spans."""
    starts, ends = np.array(words, dtype=np.int64).reshape(-1, 2).T
    marked = np.zeros(len(words), dtype=bool)
    for start, end in spans:
        marked |= (starts < end) & (ends > start)
    return [bool(mark) for mark in marked]


def _check_ids(records: Sequence[Record]) -> None:
    twice = [name for name, n in Counter(record.id for record in records).items() if n > 1]
    if twice:
        raise HeedfulError(
            f"{len(twice)} ids occur twice, the first is {twice[0]!r}: ids must be unique, "
            f"name another column or none."
        )


def _clusters(records: Sequence[Record]) -> dict[str, str]:
    """The given cluster, else the first document with the same first text (a premise is
    shared by several pairs), else the document itself."""
    first: dict[str, str] = {}
    for record in records:
        first.setdefault(record.texts["a"].strip(), record.id)
    return {r.id: r.cluster or first[r.texts["a"].strip()] for r in records}


def _sample(records: Sequence[Record], reading: Reading) -> dict[str, Words]:
    """The words of as many texts as are wanted, in the order of a hash: cutting texts into
    words takes time, and most of a large corpus is not asked for. Empty where a text, or
    either of a pair, has none."""
    by_id = {record.id: record for record in records}
    found: dict[str, Words] = {}
    missing = len(records) if reading.n is None else reading.n
    for name in pick(list(by_id), len(records), reading.seed, "documents"):
        if not missing:
            break
        words = _words(by_id[name], reading)
        found[name] = words if all(words.values()) else {}
        missing -= bool(found[name])
    return found


def _words(record: Record, reading: Reading) -> Words:
    given = record.words if reading.words is None else None
    split = reading.words or split_words
    return {
        side: given[side] if given and side in given else split(text)
        for side, text in record.texts.items()
    }


def _document(record: Record, words: Words, places: Mapping[str, int], cluster: str) -> Document:
    rationale = None
    if record.rationales is not None:
        marked = [inside(words[side], record.rationales.get(side, ())) for side in words]
        rationale = tuple(mark for side in marked for mark in side)
    labels = record.labels or ()
    label = places[labels[0]] if len(labels) == 1 else None
    given = (record.id, record.texts, words, label, rationale, cluster)
    return Document(*given, record.candidates)


def _digest(items: Sequence[Document], marks: Sequence[tuple[str, ...] | None]) -> str:
    """The digest of all that was read: two data sets with one digest are the same."""
    total = hashlib.sha256()
    for item, mark in zip(items, marks, strict=True):
        facts = [item.id, item.texts, item.words, mark, item.rationale, item.cluster]
        facts += [] if item.candidates is None else [item.candidates]
        total.update(canonical(facts).encode())
    return total.hexdigest()[:16]
