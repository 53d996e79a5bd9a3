"""One corpus as a page has it: its texts on common words, and each model's numbers on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.report.examples.axis import common_axis
from heedful.report.examples.cell import FURTHEST, Cell, Document, Map, Numbers, Reading
from heedful.report.examples.choice import MOST_WORDS, known_of
from heedful.report.examples.plain import RECKONED, Blob, number, numbers
from heedful.report.examples.shown_text import shown_text
from heedful.report.examples.words import averaged, summed

HAIR = 6
"""Decimals of an adversary's weights."""


@dataclass(frozen=True)
class Assembled:
    """Texts, and for each cell its examples and which of its maps have signs."""

    texts: list[Blob]
    examples: list[list[Blob]]
    signed: list[set[str]]


def assembled(cells: Sequence[Cell], names: Sequence[str]) -> Assembled:
    """The texts of one corpus and what each cell says of them."""
    own = [known_of(cell, names) for cell in cells]
    documents = [cell.documents(some) for cell, some in zip(cells, own, strict=True)]
    readings = [cell.readings(some) for cell, some in zip(cells, own, strict=True)]
    texts: list[Blob] = []
    examples: list[list[Blob]] = [[] for _ in cells]
    for name in names:
        known = _alike([(i, each[name]) for i, each in enumerate(documents) if name in each])
        axis = common_axis([document.spans for _, document in known])
        texts.append(shown_text(name, axis, [document for _, document in known]))
        for place, (i, _) in enumerate(known):
            on = _Words(axis.numbers[place], len(axis.words))
            found = _example(readings[i][name], cells[i].maps, on)
            examples[i].append({"t": len(texts) - 1, **found})
    return Assembled(texts, examples, [_signed(each) for each in examples])


def _alike(known: list[tuple[int, Document]]) -> list[tuple[int, Document]]:
    """A cell whose text of this name is another one does not take part."""
    return [(i, each) for i, each in known if each.text == known[0][1].text]


@dataclass(frozen=True)
class _Words:
    """The word of each token, and how many words there are."""

    numbers: tuple[int, ...]
    width: int

    @property
    def cut(self) -> bool:
        return self.width > MOST_WORDS

    @property
    def merged(self) -> bool:
        """Whether some word has several of the tokens: how an attention that was found shares
        its weight among them is then lost."""
        return len(set(self.numbers)) < len(self.numbers)


def _example(reading: Reading, maps: Sequence[Map], on: _Words) -> Blob:
    logits = _logits(reading, on)
    found: Blob = {
        "p": reading.predicted,
        "c": number(reading.confidence, RECKONED),
        "maps": _maps(reading, maps, on),
        "m": {key: short for key, short in _measures(reading).items() if short is not None},
    }
    if logits is not None:
        found["z"] = logits
        if on.merged:
            found["merged"] = True
    if reading.reach is not None and not on.cut and None not in numbers(reading.reach):
        found["reach"] = numbers(reading.reach)
    if reading.curves:
        there = {each.key for each in maps}
        found["curves"] = {k: _points(v) for k, v in reading.curves.items() if k in there}
        found["operator"] = reading.operator
    return found


def _maps(reading: Reading, maps: Sequence[Map], on: _Words) -> Blob:
    """An adversary is nothing but a few words, and a hair of attention that keeps the output."""
    found = {}
    for each in maps:
        if each.key in reading.maps:
            scores = summed(reading.maps[each.key], on.numbers, on.width)[:MOST_WORDS]
            scores = scores.round(HAIR) if each.kind == FURTHEST else _told(scores, each.weights)
            found[each.key] = numbers(scores, RECKONED)
    return found


def _told(scores: Numbers, weights: bool) -> Numbers:
    """Scores tie within a millionth where τ is measured, of weights by the size of each and of
    other scores by the largest; so of these, small ones need fewer digits."""
    most = float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
    return scores if weights or most == 0 else scores.round(RECKONED - _above(most))


def _above(value: float) -> int:
    """Digits before the point; below zero for the zeros after it."""
    return math.ceil(math.log10(value))


def _logits(reading: Reading, on: _Words) -> list[Any] | None:
    """None where they are not known, or of more words than are shown."""
    logits, weights = reading.logits, reading.maps.get("attention")
    if logits is None or weights is None or on.cut:
        return None
    said = averaged(logits, weights, on.numbers, on.width)
    return [numbers(line, RECKONED) if np.isfinite(line).all() else None for line in said]


def _measures(reading: Reading) -> Mapping[str, Any]:
    return {key: number(value) for key, value in reading.measures.items()}


def _points(points: Sequence[tuple[float, float]]) -> list[list[Any]]:
    found = [numbers(point) for point in points]
    return [point for point in found if None not in point]


def _signed(examples: Sequence[Blob]) -> set[str]:
    """Maps that go below zero somewhere."""
    return {
        key
        for example in examples
        for key, scores in example["maps"].items()
        if any(score is not None and score < 0 for score in scores)
    }
