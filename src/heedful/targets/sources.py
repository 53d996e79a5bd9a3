"""Records from whatever a user has: a file, a data frame, a `datasets.Dataset`, a list of dicts, or
a corpus by name."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.data import (
    CORPORA,
    SPLITS,
    Example,
    MissingData,
    Prepared,
    RawCorpus,
    Split,
    check_raw,
    corpus_params,
    cut_splits,
    given_spec,
    iterate_rows,
    label_name,
    limit_splits,
    prepare,
    rationale_spans,
)
from heedful.errors import HeedfulError, listed, unknown_name
from heedful.input_files import TEXT_CHARS, limit, too_long
from heedful.specs import CorpusSpec
from heedful.store import Run
from heedful.targets.disk_list import RECORDS, DiskList, DiskListWriter
from heedful.targets.document import Record, Records, Span
from heedful.targets.options import Reading

AT_ONCE = 1000  # rows that are taken out of a frame or a dataset together
SPLIT_NAMES = {"dev": ("dev", "validation", "valid", "val"), "train": ("train", "training")}


@dataclass(frozen=True)
class Table:
    """`rows` may be gone through again and again; there are `size` of them, and never all in
    memory. `class_names` are those of a label column that holds numbers and knows their names;
    `where` is what error messages call the data."""

    rows: Iterable[Mapping[str, Any]]
    size: int
    columns: tuple[str, ...]
    where: str
    class_names: Mapping[str, tuple[str, ...]]


def read_table(data: Any, split: str | None) -> Table:
    """`split` is of a dataset dict, and `test` where it is left out."""
    if split is not None and not _has_splits(data):
        called = Path(data).name if isinstance(data, (str, Path)) else f"a {type(data).__name__}"
        raise HeedfulError(f"{called} has no splits to choose {split!r} from: leave --split out.")
    if isinstance(data, (str, Path)):
        path = Path(data).expanduser()
        rows = _Again(partial(iterate_rows, path))
        return _not_empty(_surveyed(rows, path.name), str(path))
    if isinstance(data, pd.DataFrame):
        return _not_empty(_from_frame(data))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _not_empty(_surveyed(data, "the list"))
    table = _from_datasets(data, split or "test")
    if table is None:
        raise HeedfulError(
            f"texts cannot be read from a {type(data).__name__}: give a corpus by name, a file, "
            f"a data frame, a datasets.Dataset or a list of dicts."
        )
    return _not_empty(table)


def is_missing(value: Any) -> bool:
    """None, NaN and their kin."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def plain(value: Any) -> Any:
    """A numpy number or array as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class _Again:
    """Rows that are made anew each time they are gone through."""

    rows: Callable[[], Iterator[Mapping[str, Any]]]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self.rows()


def _not_empty(table: Table, called: str = "") -> Table:
    if not table.size:
        raise HeedfulError(f"{called or table.where} is empty: it needs at least one row.")
    return table


def _surveyed(rows: Iterable[Mapping[str, Any]], where: str) -> Table:
    """Any row may have a column of its own, so all are seen first."""
    columns: dict[str, None] = {}
    size = 0
    for row in rows:
        columns.update(dict.fromkeys(str(name) for name in row))
        size += 1
    return Table(rows, size, tuple(columns), where, {})


def _from_frame(data: pd.DataFrame) -> Table:
    columns = tuple(str(name) for name in data.columns)
    return Table(_Again(partial(_frame_rows, data)), len(data), columns, "the data frame", {})


def _frame_rows(data: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
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


def _dataset_rows(data: Any) -> Iterator[Mapping[str, Any]]:
    for start in range(0, len(data), AT_ONCE):
        yield from data.select(range(start, min(start + AT_ONCE, len(data)))).to_list()


_APART = ("text", "text_b", "label", "rationale")  # ids and clusters may stand anywhere
UNLABELLED = "without a label"


def table_records(data: Any, reading: Reading) -> Records:
    table = read_table(data, reading.split)
    _check_columns(table, reading)
    filling, used = DiskListWriter(RECORDS), set[str]()
    for record in _records(table, reading):
        filling.add(record)
        used.update(record.labels or ())
    items = filling.done()
    known = table.class_names.get(reading.label_column or "", ())
    dropped = {UNLABELLED: table.size - len(items)} if len(items) < table.size else {}
    return Records(items, known or _sorted(used), table.where, bool(known), dropped)


def _records(table: Table, reading: Reading) -> Iterator[Record]:
    for number, row in enumerate(table.rows, 1):
        record = _record(row, number, table, reading)
        if record is not None:
            yield record


def _check_columns(table: Table, reading: Reading) -> None:
    roles: dict[str, str] = {}
    for role, column in reading.columns.items():
        other = roles.setdefault(column, role) if role in _APART else role
        if other != role:
            raise HeedfulError(
                f"{other}_column and {role}_column both name {column!r}: name two columns."
            )
    for role, column in reading.columns.items():
        if column not in table.columns:
            option = f"--{role}-column".replace("_", "-")
            hint = ", or label_column=None where there are no labels" if role == "label" else ""
            raise HeedfulError(
                f"{table.where} has no column {column!r}: its columns are {listed(table.columns)}; "
                f"name one with {role}_column ({option}){hint}."
            )


def _record(row: Mapping[str, Any], number: int, table: Table, reading: Reading) -> Record | None:
    """None for a row that its data set itself marks as unlabelled."""
    where = f"row {number} of {table.where}"
    texts = {"a": _text(row.get(reading.text_column), reading.text_column, where)}
    if reading.text_b_column is not None:
        texts["b"] = _text(row.get(reading.text_b_column), reading.text_b_column, where)
    labels = None
    if reading.label_column is not None:
        value = plain(row.get(reading.label_column))
        known = table.class_names.get(reading.label_column)
        if known and value == -1:
            return None
        labels = _labels(value, known, table.where, number)
    return Record(
        _name(row, reading.id_column, where) or f"row-{number:06d}",
        texts,
        labels,
        None,
        _rationales(row, reading.rationale_column, texts, where),
        _name(row, reading.cluster_column, where),
    )


def _text(value: Any, column: str, where: str) -> str:
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise HeedfulError(
            f"{where} has a {type(value).__name__} in the text column {column!r}: "
            f"name the column that holds the text."
        )
    if len(value) > (most := limit(TEXT_CHARS)):
        raise too_long(where, most)
    return _whole(value, column, where)


def _whole(value: str, column: str, where: str) -> str:
    """Half of a surrogate pair, which JSON can hold, is no text to anybody else."""
    try:
        value.encode("utf8")
    except UnicodeEncodeError as error:
        raise HeedfulError(
            f"{where} has half of a character at {error.start} in the column {column!r}: write "
            f"the file again as UTF-8."
        ) from error
    return value


def _labels(value: Any, known: Sequence[str] | None, where: str, number: int) -> tuple[str, ...]:
    """The names of a cell: a list has many, one of 0.0 and 1.0 only marks them by place."""
    if isinstance(value, (list, tuple)):
        values = [plain(each) for each in value]
        if values and all(isinstance(each, float) and each in (0.0, 1.0) for each in values):
            values = [place for place, each in enumerate(values) if each]
    else:
        values = [value]
    if any(is_missing(each) for each in values):
        raise HeedfulError(
            f"row {number} of {where} has no label: fill it in, leave the row out, "
            f"or use label_column=None."
        )
    if known:
        return tuple(_known(each, known, where, number) for each in values)
    return tuple(label_name(each, where, number) for each in values)


def _known(value: Any, names: Sequence[str], where: str, number: int) -> str:
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    raise HeedfulError(
        f"row {number} of {where} has the label {value!r}: its classes are 0 to {len(names) - 1}."
    )


def _name(row: Mapping[str, Any], column: str | None, where: str) -> str | None:
    if column is None:
        return None
    value = plain(row.get(column))
    if is_missing(value) or not str(value).strip():
        raise HeedfulError(f"{where} has nothing in the column {column!r}: fill it in.")
    return _whole(str(value), column, where)


def _rationales(
    row: Mapping[str, Any], column: str | None, texts: Mapping[str, str], where: str
) -> dict[str, tuple[Span, ...]] | None:
    """As the corpus `file` reads them; tables in memory have missing values of their own."""
    value = None if column is None else plain(row.get(column))
    found = None if is_missing(value) else rationale_spans(value, texts, where)
    return None if found is None else {side: tuple(found[side]) for side in found}


def _sorted(names: set[str]) -> tuple[str, ...]:
    """Whole numbers by size, else by name."""
    if all(name.removeprefix("-").isdecimal() for name in names):
        return tuple(sorted(names, key=int))
    return tuple(sorted(names))


CUTTING = ("dev_fraction", "test_fraction", "limit", "seed")
"""What of a preparation decides which texts are in a split."""


def named_records(name: str, reading: Reading) -> Records:
    """A split of the corpus, the same texts `prepare` would put into it. Where the files are
    not there, a prepared corpus in the store makes up for them."""
    if reading.part not in SPLITS:
        raise unknown_name("split", reading.part, list(SPLITS))
    reading.refuse_columns(f"the corpus {name!r}")
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
    """The same from a prepared corpus: its words are its tokens."""
    items = DiskList.of(_prepared(prepared.split(split), prepared.labels), RECORDS)
    where = f"{corpus_name(prepared.run)}, {split} split"
    return Records(items, prepared.labels, where, numbered=True)


def corpus_name(run: Run) -> str:
    """A corpus by its name, a file by its own: `file` would not say which."""
    name = run.fact("piece", str)
    return Path(run.fact("params.path", str)).name if name == "file" else name


def _prepared(part: Split, labels: tuple[str, ...]) -> Iterator[Record]:
    for index, name in enumerate(part.ids):
        spans = {side: _spans(part, index, side) for side in part.sides}
        marked = {side: part.rationale(index, side) for side in part.sides}
        rationales = {
            side: tuple(spans[side][i] for i in np.flatnonzero(marks))
            for side, marks in marked.items()
            if marks is not None
        }
        yield Record(
            name,
            {side: part.text(index, side) for side in part.sides},
            (labels[int(part.labels[index])],),
            spans,
            rationales or None,
            None if part.clusters is None else part.clusters[index],
            _candidates(part, index, labels),
        )


def _candidates(part: Split, index: int, labels: tuple[str, ...]) -> tuple[str, ...] | None:
    if part.candidates is None:
        return None
    return tuple(labels[place] for place in part.candidates[index].nonzero().flatten().tolist())


def _spans(part: Split, index: int, side: str) -> tuple[Span, ...]:
    column = part.sides[side]
    return tuple(zip(column.starts[index].tolist(), column.ends[index].tolist(), strict=True))


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
    )
