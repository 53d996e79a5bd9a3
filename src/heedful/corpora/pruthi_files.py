"""The tasks that pruthi2020's authors published: words between blanks, some of them marked.

The training file of `occupation` is not to be had; where it is missing, the authors' dev file
takes its place and a dev split is cut from it. The test file is the authors' own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from heedful.corpora.example import Example, GivenTokens, RawCorpus, Spans
from heedful.corpora.files import Publisher, Row, digests, find_files, read_rows
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PUBLISHER = Publisher(
    "the tasks of Pruthi et al.", "https://github.com/danishpruthi/deceptive-attention"
)
FOLDER = "pruthi_deception"
LICENCE = "none given by its authors"
CITATION = "Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL"
DEFAULTS = PrepareSpec(tokenizer="given", min_df=2, vectors="glove")

Labels = dict[str, str]
"""The name of a label in the files, and the one shown."""
Marks = Callable[[Row, GivenTokens, str], list[bool]]
"""Which words of a row are impermissible; the last argument says where it stands."""


def read_task(data_dir: Path | None, task: str, labels: Labels, marks: Marks) -> RawCorpus:
    """Every row of a task's files."""
    names, note = _names(data_dir, task)
    files = find_task(data_dir, task)
    short = task.partition("_classification")[0]
    examples = [
        _example(row, f"{short}-{split}-{number:05d}", split, labels, marks)
        for split, name in names.items()
        for number, row in enumerate(read_rows(files[name], ("text", "label")))
    ]
    return RawCorpus(tuple(labels.values()), examples, digests(files), subset=bool(note), note=note)


def find_task(data_dir: Path | None, task: str) -> dict[str, Path]:
    return find_files(data_dir, list(_names(data_dir, task)[0].values()), PUBLISHER)


def by_string(row: Row, tokens: GivenTokens, where: str) -> list[bool]:
    """Marked by the file itself: a 0 or a 1 for each word."""
    marks = str(row.get("impermissible", ""))
    if len(marks) != len(tokens) or set(marks) - {"0", "1"}:
        raise HeedfulError(
            f"example {where} has {len(tokens)} words and the marks {marks[:20]!r}: each word "
            f"needs a 0 or a 1."
        )
    return [mark == "1" for mark in marks]


def words(text: str) -> GivenTokens:
    """What stands between blanks, with its place."""
    return [(found.group(), *found.span()) for found in re.finditer(r"\S+", text)]


def _names(data_dir: Path | None, task: str) -> tuple[dict[str, str], str]:
    """The file of each split, and what is missing."""
    names = {split: f"{FOLDER}/{task}_{split}.jsonl.gz" for split in ("train", "dev", "test")}
    there = {split: data_dir and (data_dir / name).is_file() for split, name in names.items()}
    if there["train"] or not there["dev"]:
        return names, ""
    note = "the training file is missing: trained on the authors' dev file"
    return {"train": names["dev"], "test": names["test"]}, note


def _example(row: Row, name: str, split: str, labels: Labels, marks: Marks) -> Example:
    if not isinstance(row["text"], str) or str(row["label"]) not in labels:
        known = ", ".join(labels)
        raise HeedfulError(f"example {name} needs a text and one of the labels {known}.")
    tokens = words(row["text"])
    marked = marks(row, tokens, name)
    spans: Spans = [token[1:] for token, is_so in zip(tokens, marked, strict=True) if is_so]
    label = list(labels).index(str(row["label"]))
    return Example(
        name, split, {"a": row["text"]}, label, {"a": tokens}, impermissible={"a": spans}
    )
