"""A user's own examples, read one way for studies (the corpus `file`) and for audits.

A table is a CSV, TSV, JSONL or Parquet file, a data frame, a `datasets.Dataset` or a list of
dicts. Its columns are named by role: text, text_b, label, id, rationale, cluster, answer and
contrast for models that write, position for models that label words, and pair for revisions.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.data.example import (
    Example,
    RawCorpus,
    Record,
    Spans,
    class_names,
    index_of,
    label_name,
    numbered,
)
from heedful.data.files import MissingData, Row, digests, iterate_rows
from heedful.data.marking import found_in, words_pattern
from heedful.entries import Corpus
from heedful.errors import HeedfulError, listed, meant, short
from heedful.input_files import TEXT_CHARS, limit, too_long
from heedful.specs import PrepareSpec

AT_ONCE = 1000  # rows that are taken out of a frame or a dataset together
MOST_WORDS = 1000  # of an impermissible cell: each is searched for by itself
SPLIT_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "validation", "valid", "val"),
    "test": ("test",),
}
"""How files and datasets name the splits."""
_SIDES = {"a": "text", "b": "text_b"}
_ONE_ROLE = ("text", "text_b", "label", "rationale", "answer", "contrast", "position", "pair")
"""Roles whose columns differ; ids and clusters may share one."""


@dataclass(frozen=True)
class Table:
    """Rows of which never all are in memory; they can be read again and again. `class_names` are
    those of a label column that holds numbers and knows their names; `where` is what error
    messages call the table."""

    rows: Iterable[Row]
    size: int
    columns: tuple[str, ...]
    where: str
    class_names: Mapping[str, tuple[str, ...]]


def read_table(data: Any, split: str | None = None) -> Table:
    """A file by its path, a data frame, a `datasets.Dataset` or a list of dicts as a table;
    `split` is one of a `DatasetDict` (default: test)."""
    if split is not None and not _has_splits(data):
        name = Path(data).name if isinstance(data, (str, Path)) else f"a {type(data).__name__}"
        raise HeedfulError(f"{name} has no splits to choose {split!r} from: leave --split out.")
    if isinstance(data, (str, Path)):
        path = Path(data).expanduser()
        rows = _Again(partial(iterate_rows, path))
        return _not_empty(_surveyed(rows, path.name), str(path))
    if isinstance(data, pd.DataFrame):
        rows, columns = _Again(partial(_frame_rows, data)), tuple(map(str, data.columns))
        return _not_empty(Table(rows, len(data), columns, "the data frame", {}))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _not_empty(_surveyed(data, "the list"))
    table = _from_datasets(data, split or "test")
    if table is None:
        raise HeedfulError(
            f"texts cannot be read from a {type(data).__name__}: give a corpus by name, a file, "
            f"a data frame, a datasets.Dataset or a list of dicts."
        )
    return _not_empty(table)


@dataclass(frozen=True)
class _Again:
    """Rows that are produced anew by each iteration."""

    rows: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.rows()


def _not_empty(table: Table, name: str = "") -> Table:
    if not table.size:
        raise HeedfulError(f"{name or table.where} is empty: it needs at least one row.")
    return table


def _surveyed(rows: Iterable[Mapping[str, Any]], where: str) -> Table:
    """Any row may have a column of its own, so all are read first."""
    columns: dict[str, None] = {}
    size = 0
    for row in rows:
        columns.update(dict.fromkeys(str(name) for name in row))
        size += 1
    return Table(rows, size, tuple(columns), where, {})  # type: ignore[arg-type]


def _frame_rows(data: pd.DataFrame) -> Iterator[Row]:
    for start in range(0, len(data), AT_ONCE):
        for row in data.iloc[start : start + AT_ONCE].to_dict("records"):
            yield {str(name): row[name] for name in row}


def _has_splits(data: Any) -> bool:
    library = sys.modules.get("datasets")
    return library is not None and isinstance(data, library.DatasetDict)


def _from_datasets(data: Any, split: str) -> Table | None:
    """Whoever holds a Dataset has imported the library, so it need not be imported here."""
    library = sys.modules.get("datasets")
    if library is None:
        return None
    if isinstance(data, library.DatasetDict):
        names = [name for name in SPLIT_NAMES.get(split, (split,)) if name in data]
        if not names:
            raise HeedfulError(
                f"the dataset has no split {split!r}: its splits are {', '.join(data)}."
            )
        data = data[names[0]]
    if not isinstance(data, library.Dataset):
        return None
    inner = {name: getattr(kind, "feature", kind) for name, kind in data.features.items()}
    classes = {
        name: tuple(kind.names)
        for name, kind in inner.items()
        if isinstance(kind, library.ClassLabel)
    }
    rows, columns = _Again(partial(_dataset_rows, data)), tuple(data.column_names)
    return Table(rows, len(data), columns, "the dataset", classes)


def _dataset_rows(data: Any) -> Iterator[Row]:
    for start in range(0, len(data), AT_ONCE):
        yield from data.select(range(start, min(start + AT_ONCE, len(data)))).to_list()


def check_table_file(path: Path, columns: Mapping[str, str]) -> None:
    """Refuse a file that lacks a column, given by role, before a model is opened. No more is read
    than shows the columns: mostly one row."""
    _check_roles(columns)
    missing = set(columns.values())
    for row in iterate_rows(path):
        missing -= row.keys()
        if not missing:
            return
    check_columns(read_table(path), columns)


def check_columns(table: Table, columns: Mapping[str, str]) -> None:
    """The table has the columns, given by role, and no role has another's."""
    _check_roles(columns)
    for role, column in columns.items():
        if column not in table.columns:
            option = f"--{role}-column".replace("_", "-")
            hint = ""
            if role == "label":
                hint = ", or none where there are no labels (label_column=None)"
            close = meant(column, table.columns)
            raise HeedfulError(
                f"{table.where} has no column {column!r}{close}: its columns are "
                f"{listed(table.columns)}; name one with {role}_column ({option}){hint}."
            )


def _check_roles(columns: Mapping[str, str]) -> None:
    roles: dict[str, str] = {}
    for role, column in columns.items():
        other = roles.setdefault(column, role) if role in _ONE_ROLE else role
        if other != role:
            raise HeedfulError(
                f"{other}_column and {role}_column both name {column!r}: name two columns."
            )


def table_records(
    table: Table, columns: Mapping[str, str], separator: str | None = None
) -> Iterator[Record]:
    """One record for each row, but for those the table itself marks as unlabelled. With a
    `separator`, the text column may hold lists of documents, which are joined by it."""
    check_columns(table, columns)
    originals: dict[str, str] = {}
    for number, row in enumerate(table.rows, 1):
        parts = None
        if separator is not None:
            row, parts = _joined(row, columns["text"], separator, f"row {number} of {table.where}")
        record = record_of(row, number, table, columns, parts)
        if record is not None:
            pair = _name(row, columns.get("pair"), f"row {number} of {table.where}")
            yield record if pair is None else _of_pair(record, pair, originals)


def _of_pair(record: Record, pair: str, originals: dict[str, str]) -> Record:
    """The first record of a pair is the original, which others revise."""
    first = originals.setdefault(pair, record.id)
    revises = None if first == record.id else first
    return replace(record, cluster=record.cluster or pair, revises=revises)


Parts = tuple[tuple[int, int], ...]


def _joined(row: Row, column: str, separator: str, where: str) -> tuple[Row, Parts | None]:
    """The row with the documents of a list as one text, and where each of them stands in it."""
    documents = plain(row.get(column))
    if not isinstance(documents, (list, tuple)):
        return row, None
    for document in documents:
        if not isinstance(document, str):
            raise HeedfulError(
                f"{where} has a {type(document).__name__} among the documents in column "
                f"{column!r}: give a list of texts."
            )
    spans, start = [], 0
    for document in documents:
        spans.append((start, start + len(document)))
        start += len(document) + len(separator)
    return {**row, column: separator.join(documents)}, tuple(spans)


def record_of(
    row: Row, number: int, table: Table, columns: Mapping[str, str], parts: Parts | None = None
) -> Record | None:
    """The record of one row; None where the table itself marks it as unlabelled."""
    where, labels = f"row {number} of {table.where}", None
    texts = {
        side: _text(row.get(columns[role]), columns[role], where)
        for side, role in _SIDES.items()
        if role in columns
    }
    if "label" in columns:
        value = plain(row.get(columns["label"]))
        known = table.class_names.get(columns["label"])
        if known and value == -1:
            return None
        labels = _labels(value, known, table.where, number)
    return Record(
        _name(row, columns.get("id"), where) or f"row-{number:06d}",
        texts,
        labels,
        None,
        _rationales(row, columns.get("rationale"), texts, where),
        _name(row, columns.get("cluster"), where),
        parts=parts,
        answer=_answer(row, columns.get("answer"), where),
        instead=_answer(row, columns.get("contrast"), where),
        position=_position(row, columns.get("position"), texts["a"], where),
    )


def is_missing(value: Any) -> bool:
    """None, NaN and pandas' NA."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def plain(value: Any) -> Any:
    """A NumPy number or array as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _text(value: Any, column: str, where: str) -> str:
    if is_missing(value):
        return ""
    if isinstance(plain(value), (list, tuple)):
        raise HeedfulError(
            f"{where} has a list in column {column!r}: name the column that holds the text, or "
            f"audit documents (--unit document)."
        )
    if not isinstance(value, str):
        raise HeedfulError(
            f"{where} has no text in column {column!r}, but a {type(value).__name__}: name the "
            f"column that holds the text."
        )
    if len(value) > (most := limit(TEXT_CHARS)):
        raise too_long(where, most)
    return _whole(value, column, where)


def _whole(value: str, column: str, where: str) -> str:
    """JSON can hold half of a surrogate pair, which is not text."""
    try:
        value.encode("utf8")
    except UnicodeEncodeError as error:
        raise HeedfulError(
            f"{where} has half of a character at {error.start} in the column {column!r}: write "
            f"the file again as UTF-8."
        ) from error
    return value


def _labels(value: Any, known: Sequence[str] | None, where: str, number: int) -> tuple[str, ...]:
    """The names in a cell: a list has several, a list of 0.0 and 1.0 marks them by place."""
    if isinstance(value, (list, tuple)):
        values = [plain(label) for label in value]
        if values and all(isinstance(label, float) and label in (0.0, 1.0) for label in values):
            values = [place for place, label in enumerate(values) if label]
    else:
        values = [value]
    if any(is_missing(label) for label in values):
        raise HeedfulError(
            f"row {number} of {where} has no label: fill it in, leave the row out, "
            f"or use label_column=None."
        )
    if known:
        for label in values:
            if not isinstance(label, int) or not 0 <= label < len(known):
                raise HeedfulError(
                    f"row {number} of {where} has the label {label!r}: its classes are 0 to "
                    f"{len(known) - 1}."
                )
        return tuple(known[label] for label in values)
    return tuple(label_name(label, where, number) for label in values)


def _name(row: Row, column: str | None, where: str) -> str | None:
    if column is None:
        return None
    value = plain(row.get(column))
    if is_missing(value) or not str(value).strip():
        raise HeedfulError(f"{where} has nothing in the column {column!r}: fill it in.")
    return _whole(str(value), column, where)


def _answer(row: Row, column: str | None, where: str) -> str | None:
    """Blanks before it count: a tokenizer tells " Paris" from "Paris"."""
    if column is None:
        return None
    answer = _text(row.get(column), column, where)
    if not answer.strip():
        raise HeedfulError(f"{where} has no answer in the column {column!r}: fill it in.")
    return answer


def _position(row: Row, column: str | None, text: str, where: str) -> int | tuple[int, int] | None:
    """[start, end) characters or the number of a word, also as JSON."""
    if column is None:
        return None
    value = plain(row.get(column))
    try:
        value = json.loads(value) if isinstance(value, str) else value
        whole = value if isinstance(value, int) and not isinstance(value, bool) else None
        spans = [] if whole is not None else _pairs([value])
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HeedfulError(
            f"{where} has no position in the column {column!r}: write [start, end) characters such "
            f"as [0, 4], or the number of a word, from 1."
        ) from error
    if whole is not None:
        return whole
    _check_inside(spans, text, f"{where} has the position")
    return spans[0]


def _rationales(
    row: Row, column: str | None, texts: Mapping[str, str], where: str
) -> dict[str, tuple[tuple[int, int], ...]] | None:
    value = None if column is None else plain(row.get(column))
    sides = None if is_missing(value) else rationale_spans(value, texts, where)
    return None if sides is None else {side: tuple(spans) for side, spans in sides.items()}


def rationale_spans(value: Any, texts: Mapping[str, str], where: str) -> dict[str, Spans] | None:
    """[start, end) pairs of the first text, as a list or as its JSON; by side where both texts of
    a pair are marked, as `heedful annotate export` writes it. An empty cell means no rationale."""
    if value is None or value == "":
        return None
    try:
        cell = json.loads(value) if isinstance(value, str) else value
        sides = cell if isinstance(cell, Mapping) else {"a": cell}
        spans = {str(side): _pairs(pairs) for side, pairs in sides.items() if pairs is not None}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HeedfulError(
            f"{where} has a rationale that is no list of [start, end) pairs of characters: write "
            f"such as [[0, 4]]."
        ) from error
    for side in spans:
        if side not in texts:
            raise HeedfulError(
                f"{where} has a rationale of the text {side!r}, and its texts are "
                f"{', '.join(texts)}: name the column of the second text with text_b_column, or "
                f"mark the first alone."
            )
        _check_inside(spans[side], texts[side], f"{where} has the rationale span")
    return spans or None


def impermissible_spans(value: Any, text: str, where: str) -> Spans:
    """[start, end) pairs, or words: a list of either, its JSON, or words with commas between
    them. An empty cell forbids nothing."""
    if value is None or value == "":
        return []
    items = _listed(value)
    if all(isinstance(item, str) for item in items):
        return _of_words(items, text, where)
    try:
        spans = _pairs(items)
    except (TypeError, ValueError, OverflowError) as error:
        raise HeedfulError(
            f"{where} has an impermissible cell that is neither words nor a list of "
            f"[start, end) pairs: write one of them."
        ) from error
    _check_inside(spans, text, f"{where} has the impermissible span")
    return spans


def _pairs(pairs: Any) -> Spans:
    return [(int(start), int(end)) for start, end in pairs]


def _listed(value: Any) -> list[Any]:
    """The items of a list or of its JSON; anything else is text with commas in it."""
    try:
        items = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        items = None
    if isinstance(items, list):
        return items
    return [word.strip() for word in str(value).split(",") if word.strip()]


def _of_words(words: list[str], text: str, where: str) -> Spans:
    if len(words) > MOST_WORDS:
        raise HeedfulError(
            f"{where} names {len(words):,} impermissible words, and at most {MOST_WORDS:,} are "
            f"read: give [start, end) pairs instead."
        )
    spans: Spans = []
    for word in words:
        matches = found_in(text, words_pattern([word])) if word.strip() else []
        if not matches:
            raise HeedfulError(
                f"{where} names the impermissible word {short(word)!r}, which is not in its text: "
                f"take it out."
            )
        spans += matches
    return sorted(set(spans))


def _check_inside(spans: Spans, text: str, subject: str) -> None:
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise HeedfulError(
                f"{subject} [{start}, {end}), its text has {len(text)} characters: count "
                f"characters from 0 up to the end."
            )


def read(
    data_dir: Path | None = None,
    path: str | None = None,
    dev: str | None = None,
    test: str | None = None,
    text_column: str = "text",
    label_column: str = "label",
    split_column: str | None = None,
    id_column: str | None = None,
    rationale_column: str | None = None,
    text_b_column: str | None = None,
    impermissible_column: str | None = None,
) -> RawCorpus:
    """`path` is the training file, or the only one; splits that are in no file and no
    `split_column` are cut by a hash of the id. With a `text_b_column` examples are pairs: the
    text is attended, the second one (a question, a hypothesis) asks. Rationales are of the
    first, or by side; what is impermissible is of the first: spans, or words."""
    if path is None:
        raise HeedfulError("the corpus `file` needs the parameter `path`: the file to read.")
    if split_column is not None and (dev is not None or test is not None):
        raise HeedfulError("give either a split_column or files for dev and test, not both.")
    roles = {
        "text": text_column,
        "text_b": text_b_column,
        "label": label_column,
        "split": split_column,
        "id": id_column,
        "rationale": rationale_column,
        "impermissible": impermissible_column,
    }
    columns = {role: column for role, column in roles.items() if column is not None}
    files = _files({"path": path, "dev": dev, "test": test})
    tables = {role: read_table(file) for role, file in files.items()}
    for role, table in tables.items():
        check_columns(table, columns)
        tables[role] = replace(table, rows=list(table.rows))  # all of a corpus is in memory anyway
    names = class_names([row.get(label_column) for row in tables["path"].rows], files["path"].name)
    splits = {"path": "train" if test is not None else "", "dev": "dev", "test": "test"}
    examples = [
        example
        for role, table in tables.items()
        for example in _examples(table, columns, numbered(names), splits[role])
    ]
    marked = (example.impermissible and example.impermissible["a"] for example in examples)
    if impermissible_column and not any(marked):
        raise HeedfulError(
            f"the column {impermissible_column!r} marks nothing in any text: fill some cells."
        )
    return RawCorpus(names, examples, digests({f"{r}/{f.name}": f for r, f in files.items()}))


def _files(names: dict[str, str | None]) -> dict[str, Path]:
    files = {role: Path(name).expanduser() for role, name in names.items() if name is not None}
    for file in files.values():
        if not file.exists():
            raise MissingData(f"there is no file {file}: check the path.")
    return files


def _examples(
    table: Table, columns: Mapping[str, str], classes: dict[str, int], split: str
) -> Iterator[Example]:
    pairs = zip(table.rows, table_records(table, columns), strict=True)
    for number, (row, record) in enumerate(pairs, 1):
        where = f"row {number} of {table.where}"
        for role in _SIDES.values():
            if role in columns and is_missing(row.get(columns[role])):
                raise HeedfulError(
                    f"{where} has no text in column {columns[role]!r}: fill it in, leave the row "
                    f"out, or name the column that holds the text."
                )
        own = _split(row.get(columns["split"]), where) if "split" in columns else split
        marks = None
        if "impermissible" in columns:
            cell = row.get(columns["impermissible"])
            marks = {"a": impermissible_spans(cell, record.texts["a"], where)}
        rationales = None
        if record.rationales is not None:
            rationales = {side: list(spans) for side, spans in record.rationales.items()}
        yield Example(
            record.id if "id" in columns else f"{own or 'row'}-{number:06d}",
            own,
            record.texts,
            index_of(label_name(row.get(columns["label"]), table.where, number), classes, where),
            rationales=rationales,
            impermissible=marks,
        )


def _split(value: Any, where: str) -> str:
    name = str(value).strip().lower()
    for split, names in SPLIT_NAMES.items():
        if name in names:
            return split
    known = ", ".join(name for names in SPLIT_NAMES.values() for name in names)
    raise HeedfulError(f"{where} has the split {short(str(value))!r}: use one of {known}.")


ENTRY = Corpus(
    name="file",
    description="Your own CSV, TSV, JSONL or Parquet file",
    make=read,
    licence="",
    prepare=PrepareSpec(tokenizer="spacy", min_df=2),
)
