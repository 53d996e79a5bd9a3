"""What a corpus hands over before anything is tokenised: texts, labels, rationales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GivenTokens = list[tuple[str, int, int]]
Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Example:
    """One instance. `texts` is keyed by side (`a`, and later `b`).

    `split` is `train`, `dev`, `test`, or empty where `prepare` is to cut it. `tokens` are
    given as (token, start, end) and `rationales` as [start, end), both in characters of
    the side's text, so a rationale survives any tokenisation.
    """

    id: str
    split: str
    texts: Mapping[str, str]
    label: int
    tokens: Mapping[str, GivenTokens] | None = None
    rationales: Mapping[str, Spans] | None = None


@dataclass(frozen=True)
class RawCorpus:
    """All examples of a corpus and the digests of the files they came from.

    `subset` says that the files are only a part of the published data, so that numbers are
    not comparable with published ones; `note` says which part. `dropped` counts what the
    reader itself left out, by reason.
    """

    labels: tuple[str, ...]
    examples: list[Example]
    sources: Mapping[str, str]
    subset: bool = False
    note: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
