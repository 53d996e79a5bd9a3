"""A prepared corpus, read back: splits, batches, vectors. Needs neither the data nor spaCy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from heedful.corpora.split import Split
from heedful.corpora.splitting import SPLITS
from heedful.errors import HeedfulError, unknown_name
from heedful.store import Run


class Prepared:
    """The contents of a run of kind `corpus`."""

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
        if example not in self._place:
            raise HeedfulError(f"no example {example!r} in the prepared corpus {self.run.key}.")
        split, index = self._place[example]
        return self._splits[split].surface(index, side)

    @cached_property
    def _splits(self) -> Mapping[str, Split]:
        table = self.run.table("examples")
        return {
            name: Split.from_table(table[table["split"] == name], len(self.labels))
            for name in SPLITS
        }

    @cached_property
    def _place(self) -> dict[str, tuple[str, int]]:
        return {
            example: (name, index)
            for name, split in self._splits.items()
            for index, example in enumerate(split.ids)
        }
