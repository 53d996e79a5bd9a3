"""A user's own data: CSV, TSV, JSONL or Parquet files with a text and a label column."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from heedful.data.example import (
    Example,
    RawCorpus,
    Spans,
    class_names,
    index_of,
    label_name,
    numbered,
)
from heedful.data.files import MissingData, Row, digests, read_rows
from heedful.data.impermissible import found_in, words_pattern
from heedful.entries import Corpus
from heedful.errors import HeedfulError, short
from heedful.specs import PrepareSpec

SPLIT_NAMES = {
    "train": "train", "training": "train", "dev": "dev", "valid": "dev", "val": "dev",
    "validation": "dev", "test": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Where a table holds what; None where it does not."""

    text: str
    label: str
    split: str | None
    id: str | None
    rationale: str | None
    text_b: str | None
    impermissible: str | None = None

    def named(self) -> list[str]:
        return [name for name in astuple(self) if name is not None]


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
    columns = Columns(
        text_column,
        label_column,
        split_column,
        id_column,
        rationale_column,
        text_b_column,
        impermissible_column,
    )
    files = _files({"path": path, "dev": dev, "test": test})
    rows = {role: read_rows(file, columns.named()) for role, file in files.items()}
    labels = class_names([row[label_column] for row in rows["path"]], files["path"].name)
    first = "train" if test is not None else ("" if split_column is None else "column")
    splits = {"path": first, "dev": "dev", "test": "test"}
    numbers = numbered(labels)
    examples = [
        _example(row, number, splits[role], columns, numbers, files[role].name)
        for role in files
        for number, row in enumerate(rows[role], 1)
    ]
    marked = (each.impermissible and each.impermissible["a"] for each in examples)
    if impermissible_column and not any(marked):
        raise HeedfulError(
            f"the column {impermissible_column!r} marks nothing in any text: fill some cells."
        )
    return RawCorpus(labels, examples, digests({f"{r}/{f.name}": f for r, f in files.items()}))


def _files(given: dict[str, str | None]) -> dict[str, Path]:
    files = {role: Path(name).expanduser() for role, name in given.items() if name is not None}
    for file in files.values():
        if not file.exists():
            raise MissingData(f"there is no file {file}: check the path.")
    return files


def _example(
    row: Row, number: int, split: str, columns: Columns, labels: dict[str, int], file: str
) -> Example:
    texts = _texts(row, number, columns, file)
    label = index_of(label_name(row[columns.label], file, number), labels, file, number)
    if split == "column":
        split = _split(row[str(columns.split)], file, number)
    name = f"{split or 'row'}-{number:06d}" if columns.id is None else str(row[columns.id])
    where, rationales, marks = f"row {number} of {file}", None, None
    if columns.rationale:
        rationales = rationale_spans(row[columns.rationale], texts, where)
    if columns.impermissible:
        marks = {"a": impermissible_spans(row[columns.impermissible], texts["a"], where)}
    return Example(name, split, texts, label, None, rationales, impermissible=marks)


def _texts(row: Row, number: int, columns: Columns, file: str) -> dict[str, str]:
    """One text, or two where a second column was named."""
    sides = {"a": columns.text} | ({"b": columns.text_b} if columns.text_b else {})
    for column in sides.values():
        if not isinstance(row[column], str):
            raise HeedfulError(
                f"row {number} of {file} has no text in column {column!r}: fill it in, leave the "
                f"row out, or name the column that holds the text."
            )
    return {side: row[column] for side, column in sides.items()}


def _split(value: Any, file: str, number: int) -> str:
    name = SPLIT_NAMES.get(str(value).strip().lower())
    if name is None:
        known = ", ".join(SPLIT_NAMES)
        said = short(str(value))
        raise HeedfulError(f"row {number} of {file} has the split {said!r}: use one of {known}.")
    return name


ENTRY = Corpus(
    name="file",
    description="Your own CSV, TSV, JSONL or Parquet file",
    make=read,
    kind="single",
    licence="",
    prepare=PrepareSpec(tokenizer="spacy", min_df=2),
)


MOST_WORDS = 1000  # of a cell: each is looked for by itself


def rationale_spans(value: Any, texts: Mapping[str, str], where: str) -> dict[str, Spans] | None:
    """[start, end) pairs of the first text, as a list or as its JSON; by side where both texts of
    a pair are marked, as `heedful annotate export` writes it. An empty cell means no rationale."""
    if value is None or value == "":
        return None
    try:
        found = json.loads(value) if isinstance(value, str) else value
        sides = found if isinstance(found, Mapping) else {"a": found}
        spans = {str(side): _pairs(pairs) for side, pairs in sides.items() if pairs is not None}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HeedfulError(
            f"{where} has a rationale that is no list of [start, end) pairs of characters: write "
            f"such as [[0, 4]]."
        ) from error
    return {side: _of_side(side, spans[side], texts, where) for side in spans} or None


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
    return _inside(spans, text, f"{where} has the impermissible span")


def _pairs(pairs: Any) -> Spans:
    return [(int(start), int(end)) for start, end in pairs]


def _of_side(side: str, spans: Spans, texts: Mapping[str, str], where: str) -> Spans:
    if side not in texts:
        raise HeedfulError(
            f"{where} has a rationale of the text {side!r}, and its texts are {', '.join(texts)}: "
            f"name the column of the second text with text_b_column, or mark the first alone."
        )
    return _inside(spans, texts[side], f"{where} has the rationale span")


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
        found = found_in(text, words_pattern([word])) if word.strip() else []
        if not found:
            raise HeedfulError(
                f"{where} names the impermissible word {short(word)!r}, which is not in its text: "
                f"take it out."
            )
        spans += found
    return sorted(set(spans))


def _inside(spans: Spans, text: str, what: str) -> Spans:
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise HeedfulError(
                f"{what} [{start}, {end}), its text has {len(text)} characters: count characters "
                f"from 0 up to the end."
            )
    return spans
