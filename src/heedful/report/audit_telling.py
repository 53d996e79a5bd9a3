"""One telling example at the head of a page: what attention points at, what another explanation
points at, and what happens to the prediction when these words go.

It is chosen by rule, from removals that the audit has already measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_texts import (
    LONGEST_CONTEXT,
    LONGEST_WORD,
    Word,
    asked,
    context_of,
    marks_of,
    window,
    word_map,
)
from heedful.report.cells import listed, padded
from heedful.report.formats import clipped, percent, plain
from heedful.units import by_unit
from heedful.verdict import Decision

MOST_GONE = 0.35
"""The largest share of a text's words that is taken away."""
SHORT = 45
"""Longer examples are chosen only where no shorter one will do."""
LEAST_GAP = 0.1
"""By how much the two removals must differ in what they do to the probability."""
NAMED = 6
"""Removed words that are written out."""


@dataclass(frozen=True)
class Side:
    """One explanation of the example: its words with `gone` ones crossed out below, the
    probability of the predicted class before and after, and what became of the prediction."""

    title: str
    words: tuple[Word, ...]
    gone: tuple[str, ...]
    more: int
    after: str
    share: float
    kind: str
    outcome: str


@dataclass(frozen=True)
class Telling:
    """The example with both explanations. `lead` says in a sentence what it shows, `rule` how it
    was chosen, `average` what holds over all examples; `context` is the second text of a pair,
    `asked` the answer that was asked for."""

    predicted: str
    before: str
    before_share: float
    lead: str
    sides: tuple[Side, Side]
    cut: str
    rule: str
    average: str
    context: str = ""
    asked: str = ""


@dataclass(frozen=True)
class _Option:
    """An example and a point of its curves that could be shown."""

    gap: float
    length: int
    example: str
    point: int
    count: int


def telling(evidence: AuditEvidence) -> Telling | None:
    """The example in which the two explanations differ most; None where no removal was measured,
    or where none differs by much."""
    curves = _Curves(evidence)
    rival = curves.rival
    options = list(curves.options(rival)) if rival else []
    short = [option for option in options if option.length <= SHORT]
    chosen = max(short or options, key=lambda option: (option.gap, option.example), default=None)
    return None if chosen is None else _telling(curves, rival, chosen)


class _Curves:
    """The explained probability as the words that each explanation puts first go."""

    def __init__(self, evidence: AuditEvidence) -> None:
        shown, maps = evidence.shown, evidence.maps
        self.evidence = evidence
        self.mine = evidence.on_trial
        self.curve: dict[str, dict[str, np.ndarray]] = {}
        for line in shown[shown["kind"] == "curve"].to_dict("records"):
            values = np.asarray(listed(line["scores"]), dtype=float)
            self.curve.setdefault(str(line["name"]), {})[str(line["example"])] = values
        removed = shown[shown["kind"] == "removed"]
        self.shares = {
            str(name): np.asarray(listed(scores), dtype=float)
            for name, scores in zip(removed["example"], removed["scores"], strict=True)
        }
        self.perturbation = str(removed["name"].iloc[0]) if len(removed) else ""
        self.scores: dict[str, dict[str, Any]] = {
            str(name): dict(zip(part["example"].map(str), part["scores"], strict=True))
            for name, part in maps.groupby("explanation")
        }
        self.documents: dict[str, Mapping[Any, Any]] = {
            str(line["example"]): line for line in evidence.documents.to_dict("records")
        }

    @cached_property
    def shows(self) -> bool:
        """Whether attention can be shown: then the example shows where the other one fails."""
        return self.evidence.verdict.decision is Decision.SUPPORTED

    @cached_property
    def rival(self) -> str:
        """The recommended explanation; where that is attention, the one whose words matter least.
        "" where there is nothing to compare."""
        others = [name for name in self.curve if name != self.mine and name in self.scores]
        if self.mine not in self.curve or self.mine not in self.scores or not others:
            return ""
        if not self.shows and self.evidence.best in others:
            return self.evidence.best
        falls = {name: self.fall(name) for name in others}
        pick = min if self.shows else max
        return pick(sorted(falls), key=lambda name: falls[name])

    def fall(self, name: str) -> float:
        """The mean fall of the probability without the first words, over examples."""
        falls = [
            values[0] - values[point]
            for example, values in self.curve[name].items()
            for point in self.points(example)[:1]
            if point < len(values)
        ]
        return float(np.mean(falls)) if falls else 0.0

    @cached_property
    def first_share(self) -> str:
        """The share of words that is gone at the first point, over examples."""
        first = [
            self.shares[example][self.points(example)[0]]
            for example in self.shares
            if self.points(example)
        ]
        return percent(float(np.mean(first))) if first else percent(0.0)

    def points(self, example: str) -> list[int]:
        """The points of a curve at which some words are gone, but not too many."""
        shares = self.shares.get(example, np.array([]))
        return [int(i) for i in np.flatnonzero((shares > 0) & (shares <= MOST_GONE))]

    def options(self, rival: str) -> Iterator[_Option]:
        for example, mine in self.curve[self.mine].items():
            other = self.curve[rival].get(example)
            known = example in self.documents and example in self.evidence.examples.index
            if other is None or not known:
                continue
            for point in self.points(example):
                if point >= min(len(mine), len(other)):
                    continue
                gap = mine[point] - other[point]
                gap = -gap if self.shows else gap
                length = len(listed(self.documents[example]["words"]))
                counts = {self.count(name, example, point) for name in (self.mine, rival)}
                if gap >= LEAST_GAP and len(counts) == 1 and counts != {0}:
                    yield _Option(float(gap), length, example, point, counts.pop())

    def count(self, name: str, example: str, point: int) -> int:
        """How many words are gone at a point; 0 where ties leave open which they are."""
        scores = self.words(name, example)
        known = np.sort(scores[np.isfinite(scores)])[::-1]
        count = round(float(self.shares[example][point]) * len(known))
        if not 0 < count < len(known):
            return 0
        apart = known[count - 1] - known[count] > 1e-6 * max(float(np.abs(known).max()), 1e-12)
        return count if apart else 0

    def words(self, name: str, example: str) -> np.ndarray:
        """The scores of the example's words, NaN where it was cut off."""
        length = len(listed(self.documents[example]["words"]))
        return padded(self.scores[name].get(example, []), length)


def _telling(curves: _Curves, rival: str, chosen: _Option) -> Telling:
    evidence, example = curves.evidence, chosen.example
    names = (curves.mine, rival)
    maps = [curves.words(name, example) for name in names]
    stretch = window(maps)
    first, second = (
        _side(curves, name, scores, chosen, stretch)
        for name, scores in zip(names, maps, strict=True)
    )
    before = float(curves.curve[curves.mine][example][0])
    length = len(maps[0])
    unit = evidence.unit
    cut = f"Words {stretch[0] + 1}–{stretch[1]} of {length}." if stretch[1] < length else ""
    falls = [percent(curves.fall(name)) for name in names]
    return Telling(
        predicted=evidence.class_name(evidence.examples.loc[example, "predicted"]),
        before=percent(before),
        before_share=before,
        lead=by_unit(_lead(first, second), unit),
        sides=(first, second),
        cut=by_unit(cut, unit),
        rule=(
            f"Chosen by rule, as an extreme case: of all examples{_short(chosen, unit)}, the one "
            f"in which the two removals ({plain(curves.perturbation)}) differ most."
        ),
        average=(
            f"Over all examples, without the first {curves.first_share} of the {unit}s, the "
            f"probability falls by {falls[0]} for {plain(names[0])}, by {falls[1]} for "
            f"{plain(names[1])}."
        ),
        context=context_of(curves.documents[example]),
        asked=clipped(asked(curves.documents[example]), LONGEST_CONTEXT),
    )


def _short(chosen: _Option, unit: str) -> str:
    return f" with at most {SHORT} {unit}s" if chosen.length <= SHORT else ""


def _side(
    curves: _Curves, name: str, scores: np.ndarray, chosen: _Option, stretch: tuple[int, int]
) -> Side:
    document = curves.documents[chosen.example]
    words = [str(word) for word in listed(document["words"])]
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
    gone = [int(i) for i in order[: chosen.count]]
    drawn = word_map(name, words, scores, marks_of(document), stretch)
    share = float(curves.curve[name][chosen.example][chosen.point])
    kind, outcome = _outcome(share, len(curves.evidence.facts.classes))
    return Side(
        title=plain(name),
        words=tuple(
            Word(word.text, word.shade, f"{word.kind} gone".strip(), word.title)
            if place + stretch[0] in gone
            else word
            for place, word in enumerate(drawn.words)
        ),
        gone=tuple(clipped(words[i], LONGEST_WORD) for i in gone[:NAMED]),
        more=max(0, len(gone) - NAMED),
        after=percent(share),
        share=share,
        kind=kind,
        outcome=outcome,
    )


def _outcome(share: float, classes: int) -> tuple[str, str]:
    """What a probability says of the decision: with more than two classes, not always all."""
    if share > 0.5:
        return "stays", "The prediction stays."
    if classes and share < 1 / classes:
        return "flips", "The prediction flips."
    return "falls", "The probability falls."


def _lead(first: Side, second: Side) -> str:
    verb = {"stays": "stays", "flips": "flips", "falls": "becomes less sure"}
    if first.kind == second.kind:
        return (
            f"Without the words that {first.title} puts first, the predicted class has "
            f"{first.after}; without those that {second.title} puts first, {second.after}."
        )
    return (
        f"Without the words that {first.title} puts first, the prediction {verb[first.kind]}. "
        f"Without those that {second.title} puts first, it {verb[second.kind]}."
    )
