"""The texts of a prepared corpus, as the cells of a study need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from heedful.report.evidence import Evidence
from heedful.report.examples.cell import Document
from heedful.report.examples.lists import listed
from heedful.store import Run

QUARTER = 4
"""Of a target that is being written, probes look at the step after a quarter."""
COLUMNS = (
    *("example", "text_a", "starts_a", "ends_a", "text_b", "ends_b", "rationale_a"),
    "impermissible_a",
)


class StudyTexts:
    """Nothing is read before it is asked for; without the corpus there are no texts."""

    def __init__(self, evidence: Evidence, corpus_run: str) -> None:
        self.evidence, self.key = evidence, corpus_run

    @property
    def there(self) -> bool:
        return bool(self.key) and self.evidence.store.has(self.key)

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes; of a corpus for generation the vocabulary."""
        if self.writes and self.there:
            return [str(word) for word in self._run.table("vocabulary")["word"]]
        return [str(name) for name in self.report.get("labels", [])]

    @cached_property
    def report(self) -> dict[str, Any]:
        return self.evidence.corpus_report(self.key)

    @property
    def writes(self) -> bool:
        return self.report.get("task") == "generation"

    def lengths(self, names: Iterable[str], blind: bool) -> dict[str, int]:
        """Tokens of each text that a model sees, of those texts that are there."""
        known = (name for name in names if name in self._place)
        return {name: len(_seen(self._line(name), blind)) for name in known}

    def documents(self, labels: Mapping[str, int], blind: bool) -> dict[str, Document]:
        """`labels` are those of the texts that are wanted."""
        return {name: self._document(name, label, blind) for name, label in labels.items()}

    def _document(self, name: str, label: int, blind: bool) -> Document:
        line = self._line(name)
        marks = listed(line.get("rationale_a"))
        seen = _seen(line, blind)
        marked = tuple(bool(marks[i]) for i in seen) if len(marks) > max(seen, default=-1) else None
        return Document(
            str(line["text_a"]), self._other(line), _spans(line, blind), label, marked or None
        )

    def _other(self, line: Mapping[str, Any]) -> str:
        """The other text of a pair; of a target, what the model was given of it."""
        text = line.get("text_b")
        if not isinstance(text, str):
            return ""
        if not self.writes:
            return text
        ends = listed(line.get("ends_b"))
        given = len(ends) // QUARTER
        return text[: int(ends[given - 1])] if given else ""

    def _line(self, name: str) -> dict[str, Any]:
        return {column: values[self._place[name]] for column, values in self._columns.items()}

    @cached_property
    def _place(self) -> dict[str, int]:
        names = self._columns.get("example", [])
        return {str(name): place for place, name in enumerate(names)}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        if not self.there:
            return {}
        table = self._run.table("examples")
        return {name: list(table[name]) for name in COLUMNS if name in table}

    @property
    def _run(self) -> Run:
        return self.evidence.store.open(self.key)


def _spans(line: Mapping[str, Any], blind: bool) -> tuple[tuple[int, int], ...]:
    starts, ends = line["starts_a"], line["ends_a"]
    return tuple((int(starts[i]), int(ends[i])) for i in _seen(line, blind))


def _seen(line: Mapping[str, Any], blind: bool) -> list[int]:
    """The tokens a model sees: a blind one those that are not impermissible."""
    hidden = listed(line.get("impermissible_a")) if blind else []
    count = len(line["starts_a"])
    return [i for i in range(count) if i >= len(hidden) or not hidden[i]]
