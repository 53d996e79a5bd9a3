"""Texts whose words have labels (names in a text, parts of speech): an example for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heedful.data.example import Record, join_tokens
from heedful.data.files import Row
from heedful.data.tables import Table, check_columns, plain, record_of
from heedful.errors import HeedfulError

OUTSIDE = "O"
"""The label of words that are part of nothing, as CoNLL 2003 writes it."""
IGNORED = -100
"""The number that losses leave out."""


def tagged_records(
    table: Table, columns: Mapping[str, str], named: bool = False
) -> Iterator[tuple[Record, ...]]:
    """By row, a record for each word whose label is not `O`, where a row holds a list of words and
    one of their labels. Any other row is a text, and one record; its label is that of one word,
    which is `named` for all texts or has a column, or else it has none."""
    check_columns(table, columns)
    for number, row in enumerate(table.rows, 1):
        words, where = plain(row.get(columns["text"])), f"row {number} of {table.where}"
        if isinstance(words, (list, tuple)):
            if named or "position" in columns:
                raise HeedfulError(
                    f"{where} has a list of words, and each labelled one is asked about: leave "
                    f"--at and --position-column out."
                )
            records = tuple(_by_word(row, number, table, columns))
        else:
            record = record_of(row, number, table, columns)
            if record is not None and not named and "position" not in columns:
                record = replace(record, labels=None)
            records = () if record is None else (record,)
        if records:
            yield records


def _by_word(row: Row, number: int, table: Table, columns: Mapping[str, str]) -> Iterator[Record]:
    """Words are those of the row; without a column of labels it is one record."""
    where = f"row {number} of {table.where}"
    words = _list_of(row, columns["text"], where)
    if not all(isinstance(word, str) for word in words):
        raise HeedfulError(f"{where} has a word that is no text: give a list of words.")
    text, placed = join_tokens(words)
    spans = tuple((start, end) for word, start, end in placed if word.strip())
    own: dict[str, Any] = {**row, columns["text"]: text}
    if "label" not in columns:
        record = record_of(own, number, table, columns)
        if record is not None:
            yield replace(record, words={"a": spans})
        return
    labels = _list_of(row, columns["label"], where)
    if len(labels) != len(words):
        raise HeedfulError(
            f"{where} has {len(words)} words and {len(labels)} labels: give one label for each "
            f"word."
        )
    pairs = zip(words, labels, strict=True)
    for place, label in enumerate((label for word, label in pairs if word.strip()), 1):
        if label == IGNORED:
            continue
        record = record_of({**own, columns["label"]: label}, number, table, columns)
        if record is not None and record.labels != (OUTSIDE,):
            name = f"{record.id}-{place}"
            yield replace(record, id=name, words={"a": spans}, position=spans[place - 1])


def _list_of(row: Row, column: str, where: str) -> Sequence[Any]:
    value = plain(row.get(column))
    if not isinstance(value, (list, tuple)):
        raise HeedfulError(
            f"{where} has a list of words and none of their labels in the column {column!r}: name "
            f"that column (--label-column), or none."
        )
    return value
