"""A table's rows to records: columns by name, each cell checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heedful.corpora import label_name, rationale_spans
from heedful.errors import HeedfulError, listed
from heedful.input_files import TEXT_CHARS, limit, too_long
from heedful.subjects.codecs import RECORDS
from heedful.subjects.document import Span
from heedful.subjects.reading import Reading
from heedful.subjects.records import Record, Records
from heedful.subjects.shelf import Filling
from heedful.subjects.tables import Table, is_missing, plain, read_table

_APART = ("text", "text_b", "label", "rationale")  # ids and clusters may stand anywhere
UNLABELLED = "without a label"


def table_records(data: Any, reading: Reading) -> Records:
    table = read_table(data, reading.split)
    _check_columns(table, reading)
    filling, used = Filling(RECORDS), set[str]()
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
