"""What every kind of data is turned into first: texts with labels by name, words optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heedful.subjects.document import Span


@dataclass(frozen=True)
class Record:
    """One example as it was read. `labels` are names: one of them for a classifier, any
    number for a model of many labels, None where the data has no labels. Where only some
    can be the answer, `candidates` are their names."""

    id: str
    texts: Mapping[str, str]
    labels: tuple[str, ...] | None
    words: Mapping[str, tuple[Span, ...]] | None = None
    rationales: Mapping[str, tuple[Span, ...]] | None = None
    cluster: str | None = None
    candidates: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Records:
    """All examples. `label_names` may name labels no example has; `numbered` says that their
    order is the data's own numbering and not merely alphabetical."""

    items: Sequence[Record]
    label_names: tuple[str, ...]
    source: str
    numbered: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
