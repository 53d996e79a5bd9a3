"""From what a user calls their data to documents: sampled, clustered, with words and labels."""

from __future__ import annotations

import hashlib
import inspect
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.data import (
    CORPORA,
    SPLITS,
    Example,
    MissingData,
    Prepared,
    RawCorpus,
    Record,
    Split,
    Table,
    check_table_file,
    given_spec,
    sorted_names,
)
from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.input_files import names_file
from heedful.specs import CorpusSpec
from heedful.store import Run
from heedful.targets.disk_list import DOCUMENTS, RECORDS, DiskList, DiskListWriter
from heedful.targets.document import (
    Document,
    Span,
    check_spans,
    grouped,
    inside,
    split_words,
)
from heedful.targets.options import Reading, reading_of
from heedful.units import DOCUMENT, TOKEN, WORD

EMPTY, UNLABELLED = "without words", "without a label"
Words = Mapping[str, tuple[Span, ...]]
Mark = tuple[str, ...] | None
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
"""Of strings and whole numbers what `heedful.store.canonical` makes, in a tenth of the time."""


@dataclass(frozen=True)
class Records:
    """All examples. `label_names` may name labels that no example has; `numbered` says that their
    order is the data's own numbering and not merely alphabetical."""

    items: Sequence[Record]
    label_names: tuple[str, ...]
    source: str
    numbered: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Documents:
    """Documents and where they come from. A document's label is a place in `label_names`;
    `marks` are the labels by name, of which a document may have several (its label is then
    None). `numbered` says that the order of the names is the data's own."""

    items: Sequence[Document]
    label_names: tuple[str, ...]
    source: str
    digest: str
    marks: tuple[Mark, ...]
    numbered: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    label_column: str | None = None
    unit: str = WORD

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


ByRow = Callable[[Table, Mapping[str, str]], Iterator[tuple[Record, ...]]]
"""The records of each row of a table that has some; columns are given by role."""


def find_records(data: Any, reading: Reading, by_row: ByRow | None = None) -> Records:
    """`data` left out is the corpus that a fine-tuned model was trained on. A row of a table is a
    record, unless `by_row` says what it holds."""
    name = reading.trained["piece"] if data is None and reading.trained else data
    if isinstance(name, str) and (data is None or _names_corpus(name)):
        return named_records(name, reading)
    reading.refuse_params("a table")
    return _table_records(data, reading, by_row)


def check_source(data: Any, reading: Reading) -> None:
    """Refuse what can be seen to be wrong before a model is loaded. Whether labels are needed
    cannot: a language model may do without."""
    if not isinstance(data, (str, Path)):
        return
    if isinstance(data, str) and _names_corpus(data):
        _check_named(data, reading)
        return
    reading.refuse_params("a table")
    columns = reading.columns
    if columns.get("label") == Reading.label_column:
        del columns["label"]
    check_table_file(Path(data).expanduser(), columns)


def _names_corpus(data: str) -> bool:
    """A file is named by its path, and anything else is refused."""
    if data in CORPORA and data != "file":
        return True
    if not names_file(data):
        raise unknown_name("corpus", data, [*(n for n in CORPORA if n != "file"), "a file's path"])
    return False


def _table_records(data: Any, reading: Reading, by_row: ByRow | None) -> Records:
    from heedful.data import read_table, table_records

    table = read_table(data, reading.split)
    writer, used, kept = DiskListWriter(RECORDS), set[str](), 0
    if by_row is None:
        separator = reading.separator if reading.unit == DOCUMENT else None
        single = table_records(table, reading.columns, separator)
        rows: Iterator[tuple[Record, ...]] = ((record,) for record in single)
    else:
        rows = by_row(table, reading.columns)
    for records in rows:
        kept += 1
        for record in records:
            writer.add(record)
            used.update(record.labels or ())
    items = writer.done()
    known = table.class_names.get(reading.label_column or "", ())
    dropped = {UNLABELLED: table.size - kept} if kept < table.size else {}
    return Records(items, known or sorted_names(used), table.where, bool(known), dropped)


def documents_of(records: Records, reading: Reading) -> Documents:
    """A text without words is passed over, and counted, where the sample would have it."""
    items, marks, empty = _sample(records, reading)
    if not len(items):
        raise HeedfulError(f"no text of {records.source} has a word in it: check the text column.")
    if reading.unit != WORD:
        check_several(items, reading.unit, records.source)
    return Documents(
        items,
        records.label_names,
        records.source,
        _digest(items, marks),
        marks,
        records.numbered,
        {**records.dropped, EMPTY: empty} if empty else dict(records.dropped),
        reading.label_column,
        reading.unit,
    )


def check_several(items: Iterable[Document], unit: str, source: str) -> None:
    """Refuse units of which no text has two: there is nothing to tell apart."""
    if any(document.length > 1 for document in items):
        return
    fix = "choose a shorter one (--unit)"
    if unit == DOCUMENT:
        fix = "give lists of texts, or another unit (--unit)"
    raise HeedfulError(f"no text of {source} has two {unit}s, the unit that was asked for: {fix}.")


def _sample(records: Records, reading: Reading) -> tuple[DiskList[Document], tuple[Mark, ...], int]:
    """As many texts as are wanted, in the order of a hash: cutting texts into words takes
    time, and most of a large corpus is not asked for. Of a pair both must have words; the number
    of texts that were met and have none is last. The documents are in the records' order."""
    items = records.items
    first = first_of_text(items)
    places = {name: place for place, name in enumerate(records.label_names)}
    wanted = len(items) if reading.n is None else reading.n
    # where all are wanted, any order does
    order = range(len(items)) if wanted >= len(items) else drawn(items, reading.seed).tolist()
    filling, kept, marks, empty = DiskListWriter(DOCUMENTS), array("q"), list[Mark](), 0
    known: dict[Mark, Mark] = {}  # equal marks are one object: most texts share theirs
    for index in order:
        if len(kept) == wanted:
            break
        record = items[index]
        words = _words(record, reading)
        if not all(words.values()):
            empty += 1
            continue
        # a premise is shared by several pairs
        cluster = record.cluster or (record if first[index] == index else items[first[index]]).id
        filling.add(_document(record, words, reading.unit, places, cluster))
        kept.append(index)
        marks.append(known.setdefault(record.labels, record.labels))
    back = np.argsort(np.array(kept, dtype=np.int64))
    return filling.done().take(back), tuple(marks[place] for place in back), empty


def _words(record: Record, reading: Reading) -> Words:
    given = record.words if reading.words is None else None
    split = split_words if reading.words is None else partial(_given, reading.words)
    return {
        side: given[side] if given and side in given else split(text)
        for side, text in record.texts.items()
    }


def _given(split: Callable[[str], Iterable[Span]], text: str) -> tuple[Span, ...]:
    spans = tuple((int(start), int(end)) for start, end in split(text))
    check_spans(text, spans)
    return spans


def _grouped(record: Record, words: Words, unit: str) -> Words:
    """Only the first text can be a list of documents."""
    parts = {"a": record.parts or ()}
    return {
        side: grouped(record.texts[side], spans, unit, parts.get(side, ()))
        for side, spans in words.items()
    }


def _document(
    record: Record, pieces: Words, unit: str, places: Mapping[str, int], cluster: str
) -> Document:
    longer = unit not in (TOKEN, WORD)
    words = _grouped(record, pieces, unit) if longer else pieces
    rationale = None
    if record.rationales is not None:
        marked = [inside(words[side], record.rationales.get(side, ())) for side in words]
        rationale = tuple(mark for side in marked for mark in side)
    labels = record.labels or ()
    label = places[labels[0]] if len(labels) == 1 else None
    asked = record.position
    if isinstance(asked, int):
        asked = _numbered(record.id, asked, pieces["a"])
    return Document(
        record.id,
        record.texts,
        words,
        label,
        rationale,
        cluster,
        record.candidates,
        pieces if longer else None,
        record.answer,
        record.instead,
        asked,
        record.revises,
    )


def _numbered(name: str, number: int, words: Sequence[Span]) -> Span:
    """Where the word of this number stands, counted from 1."""
    if not 1 <= number <= len(words):
        raise HeedfulError(
            f"{name!r} has {len(words)} words and no word {number}: give a number from 1 to "
            f"{len(words)}, or [start, end) characters."
        )
    return words[number - 1]


def _digest(items: Sequence[Document], marks: Sequence[Mark]) -> str:
    """The digest of all that was read: two data sets with one digest are the same."""
    total = hashlib.sha256()
    for item, mark in zip(items, marks, strict=True):
        facts: list[Any] = [item.id, item.texts, item.words, mark, item.rationale, item.cluster]
        facts += [] if item.candidates is None else [item.candidates]
        facts += [] if item.answer is None else [item.answer, item.instead]
        if item.asked is not None:
            facts.append(item.asked)
        if item.revises is not None:
            facts.append({"revises": item.revises})
        total.update(_CANONICAL.encode(facts).encode())
    return total.hexdigest()[:16]


_BYTES = 16


def first_of_text(records: Sequence[Record]) -> NDArray[np.int64]:
    """For each record the place of the first one with the same first text, itself maybe. Ids
    that occur twice are refused."""
    names, texts = bytearray(), bytearray()
    for record in records:
        names += _short_digest(record.id)
        texts += _short_digest(record.texts["a"].strip())
    _, places, counts = np.unique(_numbers(names), axis=0, return_index=True, return_counts=True)
    twice = places[counts > 1]
    if len(twice):
        raise HeedfulError(
            f"{len(twice)} ids occur twice, the first is {records[int(twice.min())].id!r}: ids "
            f"must be unique, name another column or none."
        )
    _, places, back = np.unique(_numbers(texts), axis=0, return_index=True, return_inverse=True)
    first: NDArray[np.int64] = places[back.reshape(-1)]
    return first


def drawn(records: Sequence[Record], seed: int) -> NDArray[np.int64]:
    """The places of all records, as `pick` sorts their ids; revisions come with their original."""
    hashes = (stable_hash(seed, "documents", record.revises or record.id) for record in records)
    keys = np.fromiter(hashes, dtype=np.int64, count=len(records))
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) > 0).all():
        return order
    names = [record.id for record in records]
    places = sorted(range(len(names)), key=lambda place: (keys[place], names[place]))
    return np.array(places, dtype=np.int64)


def _short_digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=_BYTES).digest()


def _numbers(digests: bytearray) -> NDArray[np.uint64]:
    return np.frombuffer(digests, dtype=np.uint64).reshape(-1, _BYTES // 8)


CUTTING = ("dev_fraction", "test_fraction", "limit", "seed")
"""What of a preparation decides which texts are in a split."""


def named_records(name: str, reading: Reading) -> Records:
    """A split of the corpus, the same texts `prepare` would put into it. Where the files are
    not there, a prepared corpus in the store makes up for them."""
    from heedful.data import check_raw, corpus_params, cut_splits, limit_splits, prepare

    _check_named(name, reading)
    piece, spec = CORPORA[name], corpus_of(name, reading)
    if piece.kind == "generation":
        raise HeedfulError(f"the corpus {name!r} is for generation: choose one that has classes.")
    try:
        raw: RawCorpus = piece.make(reading.data_dir, **corpus_params(piece, spec.params))
    except MissingData:
        if reading.opened is None:
            raise
        return prepared_records(Prepared(prepare(spec, reading.opened)), reading.part)
    check_raw(raw)
    cut = limit_splits(cut_splits(raw.examples, spec.prepare), spec.prepare)
    examples = [example for example in cut if example.split == reading.part]
    if not examples:
        raise HeedfulError(f"the corpus {name!r} has no texts in the split {reading.part!r}.")
    items = DiskList.of((_example_record(example, raw.labels) for example in examples), RECORDS)
    return Records(items, raw.labels, f"{spec.title}, {reading.part} split", numbered=True)


def _check_named(name: str, reading: Reading) -> None:
    if reading.part not in SPLITS:
        raise unknown_name("split", reading.part, list(SPLITS))
    reading.refuse_columns(f"the corpus {name!r}")


def corpus_of(name: str, reading: Reading) -> CorpusSpec:
    """Cut as the user says, else as for the model's training, else as is usual: otherwise
    texts a model was trained on would be among those it is tried on."""
    spec, known = given_spec(name, reading.params), reading.trained
    made = [each for each in inspect.signature(CORPORA[name].make).parameters if each != "data_dir"]
    for key in reading.params:
        if key not in (*spec.params, *CUTTING):
            raise unknown_name(f"parameter of corpus {name}", key, [*made, *CUTTING])
    if known.get("piece") != name:
        return spec
    own = [key for key in CUTTING if key in known["prepare"]]
    cut = {key: known["prepare"][key] for key in own if key not in ("limit", *reading.params)}
    return CorpusSpec(name, {**known["params"], **spec.params}, replace(spec.prepare, **cut))


def prepared_records(prepared: Prepared, split: str) -> Records:
    """A split of a prepared corpus as records: its words are its tokens. What a corpus for
    generation has to be written is side b, and its examples have no label."""
    items = DiskList.of(_prepared(prepared.split(split), prepared.labels), RECORDS)
    where = f"{corpus_name(prepared.run)}, {split} split"
    return Records(items, prepared.labels, where, numbered=True)


def corpus_name(run: Run) -> str:
    """A corpus by its name, a file by its own: `file` would not say which."""
    name = run.fact("piece", str)
    return Path(run.fact("params.path", str)).name if name == "file" else name


def _prepared(part: Split, labels: tuple[str, ...]) -> Iterator[Record]:
    for index, name in enumerate(part.ids):
        spans = {
            name: tuple(zip(side.starts[index].tolist(), side.ends[index].tolist(), strict=True))
            for name, side in part.sides.items()
        }
        rationales = {
            side: tuple(spans[side][i] for i in np.flatnonzero(marks))
            for side in part.sides
            if (marks := part.rationale(index, side)) is not None
        }
        candidates = None
        if part.candidates is not None:
            candidates = tuple(labels[place] for place in np.flatnonzero(part.candidates[index]))
        yield Record(
            name,
            {side: part.text(index, side) for side in part.sides},
            (labels[int(part.labels[index])],) if labels else None,
            spans,
            rationales or None,
            None if part.clusters is None else part.clusters[index],
            candidates,
            revises=None if part.revises is None else part.revises[index],
        )


def _example_record(example: Example, labels: tuple[str, ...]) -> Record:
    words = rationales = None
    if example.tokens is not None:
        words = {
            side: tuple((start, end) for _, start, end in tokens if start < end)
            for side, tokens in example.tokens.items()
        }
    if example.rationales is not None:
        rationales = {side: tuple(spans) for side, spans in example.rationales.items()}
    candidates = example.candidates
    return Record(
        example.id,
        example.texts,
        (labels[example.label],),
        words,
        rationales,
        example.cluster,
        None if candidates is None else tuple(labels[place] for place in candidates),
        revises=example.revises,
    )
