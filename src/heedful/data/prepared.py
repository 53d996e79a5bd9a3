"""A prepared corpus, read back: its splits and batches. Needs neither the data nor spaCy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from heedful.data.example import SPLITS
from heedful.errors import HeedfulError, unknown_name
from heedful.store import Run
from heedful.types import Batch, Text

Indices = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One side's texts: token ids between start and end, and where real tokens stand. A side
    that has not `ended` has no end token: a target while it is being written."""

    tokens: list[NDArray[np.int32]]
    texts: list[str]
    starts: list[NDArray[np.int32]]
    ends: list[NDArray[np.int32]]
    rationales: list[NDArray[np.bool_] | None]
    sentences: list[NDArray[np.int32]]
    ended: bool = True
    impermissible: list[NDArray[np.bool_] | None] | None = None

    def take(self, indices: Indices) -> Side:
        return replace(self, **_rows(self, indices))

    def pad(self, indices: NDArray[np.int64]) -> Text:
        """Real tokens stand between the first and the last one; a position says so, not an id."""
        rows = [self.tokens[i] for i in indices]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        position = np.arange(lengths.max(initial=0))[None, :]
        filled = position < lengths[:, None]
        tokens = np.zeros(filled.shape, dtype=np.int64)
        tokens[filled] = np.concatenate(rows) if rows else []
        mask = (position > 0) & (position < lengths[:, None] - int(self.ended))
        sentences = np.full(filled.shape, -1, dtype=np.int64)
        sentences[mask] = np.concatenate([self.sentences[i] for i in indices]) if rows else []
        return Text(
            torch.from_numpy(tokens),
            torch.from_numpy(lengths),
            torch.from_numpy(mask),
            sentences=torch.from_numpy(sentences),
        )


def _rows(table: Side | Split, indices: Indices) -> dict[str, Any]:
    """Some rows of all its columns that are lists."""
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    return {
        name: [column[i] for i in indices]
        for name, column in columns.items()
        if isinstance(column, list)
    }


def groups(lengths: Indices, tokens: int | None, size: int) -> Iterator[NDArray[np.int64]]:
    """The places of rows in batches, the shortest first: at most `size` of them and so many padded
    `tokens`, but at least one."""
    widths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(widths, kind="stable")
    start = 0
    for end, index in enumerate(order):
        count = end - start
        full = tokens is not None and (count + 1) * widths[index] > tokens
        if count and (count == size or full):
            yield order[start:end]
            start = end
    if start < len(order):
        yield order[start:]


@dataclass(frozen=True)
class Split:
    """The examples of one split in the order of the corpus: ids, labels `[n]`, and each side's
    texts. `candidates` `[n, c]` are the classes that can be the answer; `revises` are the ids of
    the examples that some are revisions of."""

    ids: tuple[str, ...]
    labels: Tensor
    sides: Mapping[str, Side]
    candidates: Tensor | None = None
    alignments: list[NDArray[np.int32] | None] | None = None
    clusters: list[str | None] | None = None
    revises: list[str | None] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> Mapping[str, list[NDArray[np.int32]]]:
        return {name: side.tokens for name, side in self.sides.items()}

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Real tokens of side a."""
        return np.array([len(ids) - 2 for ids in self.sides["a"].tokens], dtype=np.int64)

    def subset(self, indices: Indices) -> Split:
        chosen = np.asarray(indices, dtype=np.int64)
        rows = torch.from_numpy(chosen)
        return replace(
            self,
            ids=tuple(self.ids[i] for i in chosen),
            labels=self.labels[rows],
            sides={name: side.take(chosen) for name, side in self.sides.items()},
            candidates=None if self.candidates is None else self.candidates[rows],
            **_rows(self, chosen),
        )

    def batch(self, indices: Indices) -> Batch:
        chosen = np.asarray(indices, dtype=np.int64)
        texts = {name: side.pad(chosen) for name, side in self.sides.items()}
        rows = torch.from_numpy(chosen)
        allowed = None if self.candidates is None else self.candidates[rows]
        ids = tuple(self.ids[i] for i in chosen)
        return Batch(ids, texts, self.labels[rows], allowed)

    def batches(
        self, batch_size: int, max_tokens: int | None = None
    ) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """All examples, shortest first so that little is padded; for evaluation.

        A batch holds at most `batch_size` examples and `max_tokens` padded positions of its
        longest side, but always at least one example.
        """
        if batch_size < 1:
            raise HeedfulError(f"batch_size is {batch_size}: give at least 1.")
        columns = [[len(ids) for ids in side.tokens] for side in self.sides.values()]
        widths = np.array(columns, dtype=np.int64).max(axis=0, initial=0)
        for indices in groups(widths, max_tokens, batch_size):
            yield indices, self.batch(indices)

    def rationale(self, index: int, side: str = "a") -> NDArray[np.bool_] | None:
        """Which real tokens a human (or the generator) marked, or None."""
        return self.sides[side].rationales[index]

    def impermissible(self, index: int, side: str = "a") -> NDArray[np.bool_] | None:
        """Which real tokens attention should not be seen on, or None."""
        marks = self.sides[side].impermissible
        return None if marks is None else marks[index]

    def alignment(self, index: int) -> NDArray[np.int32] | None:
        """`[m, 2]`: which real token of side a translates which of side b, or None."""
        found = self.alignments[index] if self.alignments else None
        return None if found is None else np.asarray(found).reshape(-1, 2)

    def text(self, index: int, side: str = "a") -> str:
        return self.sides[side].texts[index]

    def surface(self, index: int, side: str = "a") -> list[str]:
        """The strings of the real tokens, as they stand in the text."""
        part = self.sides[side]
        spans = zip(part.starts[index], part.ends[index], strict=True)
        return [part.texts[index][start:end] for start, end in spans]

    @staticmethod
    def from_table(rows: pd.DataFrame, classes: int = 0) -> Split:
        """From rows of `examples.parquet`; the sides are found by their columns."""
        names = [str(name).removeprefix("tokens_") for name in rows if str(name)[:7] == "tokens_"]
        sides = {name: _side(rows, name) for name in names}
        labels = torch.from_numpy(rows["label"].to_numpy(dtype=np.int64, copy=True))
        return Split(
            tuple(str(name) for name in rows["example"]),
            labels,
            sides,
            _marked(list(rows["candidates"]), classes) if "candidates" in rows else None,
            _column(rows, "alignment"),
            _names(rows, "cluster"),
            _names(rows, "revises"),
        )


def _side(rows: pd.DataFrame, name: str) -> Side:
    names = ("tokens", "text", "starts", "ends", "rationale", "sentences")
    columns: list[Any] = [list(rows[f"{column}_{name}"]) for column in names]
    return replace(Side(*columns), impermissible=_column(rows, f"impermissible_{name}"))


def _column(rows: pd.DataFrame, name: str) -> list[Any] | None:
    return list(rows[name]) if name in rows else None


def _names(rows: pd.DataFrame, name: str) -> list[str | None] | None:
    """A missing name is None, however a table says so."""
    found = _column(rows, name)
    return found and [value if isinstance(value, str) else None for value in found]


def _marked(candidates: list[NDArray[np.int32]], classes: int) -> Tensor:
    allowed = torch.zeros(len(candidates), classes, dtype=torch.bool)
    for row, some in enumerate(candidates):
        allowed[row, torch.from_numpy(np.asarray(some, dtype=np.int64))] = True
    return allowed


class Prepared:
    """The contents of a run of kind `corpus`: its splits, vocabulary, word vectors `[v, d]` and
    report, each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        if run.kind != "corpus":
            raise HeedfulError(f"run {run.key} is a {run.kind}, not a prepared corpus.")
        self.run = run

    @cached_property
    def report(self) -> dict[str, Any]:
        report = self.run.json("report")
        names = report.get("labels") if isinstance(report, dict) else None
        if not isinstance(names, list) or not isinstance(report.get("task"), str):
            raise self.run.unfit("its report names no labels and no task")
        return dict(report)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(map(str, self.report["labels"]))

    @property
    def task(self) -> str:
        return str(self.report["task"])

    @property
    def classes(self) -> int:
        """What a model chooses among: classes, or words where it writes."""
        return len(self.labels) if self.task == "classification" else len(self.words)

    @cached_property
    def vectors(self) -> Tensor:
        return load_file(self.run.weights("vectors"))["vectors"]

    @cached_property
    def words(self) -> list[str]:
        """The vocabulary: `words[i]` has token id i."""
        return [str(word) for word in self.run.table("vocabulary")["word"]]

    def split(self, name: str) -> Split:
        if name not in SPLITS:
            raise unknown_name("split", name, list(SPLITS))
        return self._splits[name]

    def surface(self, example: str, side: str = "a") -> list[str]:
        """The strings of an example's real tokens as they stand in its text."""
        for split in self._splits.values():
            if example in split.ids:
                return split.surface(split.ids.index(example), side)
        raise HeedfulError(f"no example {example!r} in the prepared corpus {self.run.key}.")

    @cached_property
    def _splits(self) -> Mapping[str, Split]:
        table = self.run.table("examples")
        return {
            name: Split.from_table(table[table["split"] == name], len(self.labels))
            for name in SPLITS
        }


def at_a_quarter(split: Split) -> Split:
    """One decoding step of each target, so that writing the next word becomes a classification.

    Side b ends after ⌊n/4⌋ tokens; the label is the word that follows there. vashishth2019 looks
    at "the 25th-percentile length" of a sentence, which can be read in more than one way.
    """
    side = split.sides["b"]
    given = [1 + (len(ids) - 2) // 4 for ids in side.tokens]
    labels = [int(ids[n]) for ids, n in zip(side.tokens, given, strict=True)]
    return replace(
        split,
        labels=torch.tensor(labels, dtype=torch.int64),
        sides={**split.sides, "b": _cut(side, given)},
        alignments=None,
    )


def _cut(side: Side, given: list[int]) -> Side:
    """The first `given` ids of each text, the start among them, and no end."""

    def first(column: list[Any], start: int = 1) -> list[Any]:
        return [np.asarray(row)[: n - start] for row, n in zip(column, given, strict=True)]

    return Side(
        first(side.tokens, 0),
        side.texts,
        first(side.starts),
        first(side.ends),
        [None] * len(given),
        first(side.sentences),
        ended=False,
    )
