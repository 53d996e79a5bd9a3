"""The statistics that a verdict really used, in words, with numbers and works.

Everything is read off the verdict: what did not happen is not said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heedful.replication.prose import listed
from heedful.verdict import REQUIRED

ASKED = ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE", "UNUSABLE")
"""Decisions of properties that had a share of alpha."""


@dataclass(frozen=True)
class Statistic:
    """What was done, as a sentence that says so, and the works it is from."""

    name: str
    sentence: str
    keys: tuple[str, ...]


def statistics_of(verdict: Mapping[str, Any]) -> list[Statistic]:
    """In the order of a paper: intervals, corrections, looks."""
    asked = [each for each in verdict["statements"] if each["decision"] in ASKED]
    weighed = [each for each in asked if each["clusters"] >= 2]
    settings = verdict["settings"]
    return [
        *_bounds(weighed, settings),
        *_guard(weighed, settings),
        *_shared(asked, settings),
        *_looks(settings),
    ]


def _bounds(weighed: list[Mapping[str, Any]], settings: Mapping[str, Any]) -> Iterator[Statistic]:
    alone = [each for each in weighed if each["checkpoints"] == 1]
    if alone:
        yield Statistic(
            "studentised bootstrap over clusters",
            f"One-sided bounds and p-values of {_named(alone)} come from a studentised bootstrap "
            f"over {_clusters(alone)} of texts, {settings['resamples']} resamples, "
            f"seed {settings['seed']}, conditional on this checkpoint.",
            ("efron1993",),
        )
    crossed = [each for each in weighed if each["checkpoints"] > 1]
    if crossed:
        count = max(each["checkpoints"] for each in crossed)
        yield Statistic(
            "Student's t, checkpoints and texts crossed",
            f"One-sided bounds and p-values of {_named(crossed)} come from Student's t "
            f"with {count} checkpoints and {_clusters(crossed)} of texts as crossed "
            f"effects, degrees of freedom after Satterthwaite.",
            ("student1908", "satterthwaite1946"),
        )


def _guard(weighed: list[Mapping[str, Any]], settings: Mapping[str, Any]) -> Iterator[Statistic]:
    if weighed:
        yield Statistic(
            "rule of three",
            "No bound is nearer to its estimate than what may have stayed unseen in so many "
            "clusters.",
            ("hanley1983",),
        )


def _shared(asked: list[Mapping[str, Any]], settings: Mapping[str, Any]) -> Iterator[Statistic]:
    if any(each["property"] in REQUIRED for each in asked):
        yield Statistic(
            "simultaneous bounds",
            f"The bounds of {listed(list(REQUIRED))} hold together at {1 - settings['alpha']:g}: "
            f"each is one-sided at {settings['alpha'] / len(REQUIRED):g} (Bonferroni). The answer "
            f"is given only where every point within them gives it.",
            ("dunn1961",),
        )


def _looks(settings: Mapping[str, Any]) -> Iterator[Statistic]:
    if settings["looks"] > 1:
        yield Statistic(
            "alpha spending",
            f"The evidence was to be looked at {settings['looks']} times and this is look "
            f"{settings['look']}: alpha was spent over looks.",
            ("lan1983", "armitage1969"),
        )


def _named(statements: list[Mapping[str, Any]]) -> str:
    return listed([str(each["property"]) for each in statements])


def _clusters(statements: list[Mapping[str, Any]]) -> str:
    counts = sorted({int(each["clusters"]) for each in statements})
    if len(counts) == 1:
        return f"{counts[0]} clusters"
    return f"{counts[0]} to {counts[-1]} clusters"
