"""A user's own data: CSV, TSV, JSONL or Parquet files with a text and a label column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.labels import class_names, index_of, label_name, numbered
from heedful.corpora.readers import Row, read_rows
from heedful.corpora.sources import MissingData, digests
from heedful.corpora.span_cells import impermissible_spans, rationale_spans
from heedful.errors import HeedfulError, short
from heedful.specs import PrepareSpec

SPLIT_NAMES = {
    "train": "train", "training": "train", "dev": "dev", "valid": "dev", "val": "dev",
    "validation": "dev", "test": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    text: str
    label: str
    split: str | None
    id: str | None
    rationale: str | None
    text_b: str | None
    impermissible: str | None = None

    def named(self) -> list[str]:
        names = (self.text, self.label, self.split, self.id, self.rationale, self.text_b)
        return [name for name in (*names, self.impermissible) if name is not None]


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
    _check_marks(examples, impermissible_column)
    return RawCorpus(labels, examples, digests({f"{r}/{f.name}": f for r, f in files.items()}))


def _check_marks(examples: list[Example], column: str | None) -> None:
    if column and not any(each.impermissible and each.impermissible["a"] for each in examples):
        raise HeedfulError(f"the column {column!r} marks nothing in any text: fill some cells.")


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
    where, why, forbidden = f"row {number} of {file}", columns.rationale, columns.impermissible
    return Example(
        _id(row, number, split, columns),
        split,
        texts,
        label,
        rationales=rationale_spans(row[why], texts, where) if why else None,
        impermissible={"a": impermissible_spans(row[forbidden], texts["a"], where)}
        if forbidden
        else None,
    )


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


def _id(row: Row, number: int, split: str, columns: Columns) -> str:
    """The row's own id, else its place in its file."""
    if columns.id is not None:
        return str(row[columns.id])
    return f"{split or 'row'}-{number:06d}"


def _split(value: Any, file: str, number: int) -> str:
    name = SPLIT_NAMES.get(str(value).strip().lower())
    if name is None:
        known = ", ".join(SPLIT_NAMES)
        said = short(str(value))
        raise HeedfulError(f"row {number} of {file} has the split {said!r}: use one of {known}.")
    return name


DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=2)

PIECE = Piece(
    name="file",
    description="Your own CSV, TSV, JSONL or Parquet file",
    make=read,
)
