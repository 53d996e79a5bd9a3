"""What a corpus hands over before anything is tokenised: texts, labels, rationales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GivenTokens = list[tuple[str, int, int]]
Spans = list[tuple[int, int]]
Links = list[tuple[tuple[int, int], tuple[int, int]]]
"""Pairs of a span of side a and a span of side b that translate each other."""


@dataclass(frozen=True)
class Example:
    """One instance. `texts` is keyed by side: `a` is attended, `b` is the question, the
    hypothesis, the aspect or the target.

    `split` is `train`, `dev`, `test`, or empty where `prepare` is to cut it. `tokens` are
    given as (token, start, end) and `rationales` as [start, end), both in characters of
    the side's text, so a rationale survives any tokenisation; so does an `alignment`. Where
    only some classes can be the answer, `candidates` are their numbers. A corpus for
    generation has no classes; its labels are 0. What attention should not be seen on
    (pruthi2020) is `impermissible`, spans like rationales. Examples of one `cluster` (a
    document, a story) are not independent of each other.
    """

    id: str
    split: str
    texts: Mapping[str, str]
    label: int
    tokens: Mapping[str, GivenTokens] | None = None
    rationales: Mapping[str, Spans] | None = None
    candidates: tuple[int, ...] | None = None
    alignment: Links | None = None
    impermissible: Mapping[str, Spans] | None = None
    cluster: str | None = None


@dataclass(frozen=True)
class RawCorpus:
    """All examples of a corpus and the digests of the files they came from.

    `subset` says that the files are only a part of the published data, so that numbers are
    not comparable with published ones; `note` says which part. `stands_for` names the
    published corpus that this one is only a substitute for. `dropped` counts what the reader
    itself left out, by reason.
    """

    labels: tuple[str, ...]
    examples: list[Example]
    sources: Mapping[str, str]
    subset: bool = False
    note: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    task: str = "classification"
    stands_for: str = ""
