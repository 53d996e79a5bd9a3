"""The texts of a page, as data for its scripts: an index, texts by corpus, numbers by model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.report.cells import (
    FURTHEST,
    MOST_WORDS,
    NUMBERS,
    Cell,
    Document,
    Map,
    Numbers,
    Reading,
    Span,
    by_corpus,
    chosen,
    class_names,
    known_of,
    told_apart,
)
from heedful.report.sheet import Holder
from heedful.studies import dataset_name

Blob = dict[str, Any]
"""What becomes an object of JSON."""
MOST_CHARACTERS = 200
"""Characters of a word, a name or an id."""
RECKONED, READ = 9, 4
"""Significant digits of what is reckoned with, and of what is only read."""


def number(value: Any, digits: int = READ) -> float | int | None:
    """None for what is no number; whole ones without a point."""
    found = float(value)
    if not math.isfinite(found):
        return None
    short = float(f"{found:.{digits}g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def numbers(values: Iterable[Any], digits: int = READ) -> list[float | int | None]:
    return [number(value, digits) for value in values]


def text(value: Any, longest: int = MOST_CHARACTERS) -> str:
    """Halves of characters, which no encoding can write, become the mark for what is unknown."""
    clean = str(value).encode("utf8", "replace").decode("utf8")
    return clean if len(clean) <= longest else f"{clean[: longest - 1]}…"


@dataclass(frozen=True)
class Axis:
    """The words as [start, end) in characters, in order; and, for each tokenization, the word
    of each of its tokens."""

    words: tuple[Span, ...]
    numbers: tuple[tuple[int, ...], ...]


def common_axis(tokenizations: Sequence[Sequence[Span]]) -> Axis:
    """Tokens that overlap nothing stay as they are; blanks between tokens are no word."""
    words: list[Span] = []
    number_of: dict[Span, int] = {}
    for span in sorted({tuple(span) for tokens in tokenizations for span in tokens}):
        start, end = span
        if words and start < words[-1][1]:
            words[-1] = (words[-1][0], max(end, words[-1][1]))
        else:
            words.append((start, end))
        number_of[start, end] = len(words) - 1
    numbers = tuple(tuple(number_of[a, b] for a, b in tokens) for tokens in tokenizations)
    return Axis(tuple(words), numbers)


def summed(scores: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    """Scores of a word's tokens are added up; NaN where the model read none of them."""
    places, known = np.asarray(numbers, dtype=np.int64), np.isfinite(scores)
    total = np.zeros(width)
    np.add.at(total, places[known], scores[known])
    there = np.zeros(width, dtype=bool)
    there[places[known]] = True
    return np.where(there, total, np.nan)


def averaged(logits: Numbers, weights: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    """`[words, logits]`: a word's tokens keep their proportions when the word is moved, so what
    it says is their mean by weight; evenly where it has no weight. So Σ weight · logit over
    words is that over tokens."""
    columns = [_averaged(each, weights, numbers, width) for each in logits.T]
    return np.stack(columns, axis=1)


def _averaged(values: Numbers, weights: Numbers, numbers: Sequence[int], width: int) -> Numbers:
    known = np.isfinite(values) & np.isfinite(weights)
    share = np.where(known, weights, np.nan)
    total = summed(share, numbers, width)
    weighted = summed(share * values, numbers, width)
    even = summed(np.where(known, values, np.nan), numbers, width)
    count = summed(np.where(known, 1.0, np.nan), numbers, width)
    mean: Numbers = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), even / count)
    return mean


HAIR = 6
"""Decimals of an adversary's weights."""


def assembled(cells: Sequence[Cell], names: Sequence[str]) -> tuple[list[Blob], list[list[Blob]]]:
    """The texts of one corpus, and what each cell says of them."""
    own = [known_of(cell, names) for cell in cells]
    documents = [cell.documents(some) for cell, some in zip(cells, own, strict=True)]
    readings = [cell.readings(some) for cell, some in zip(cells, own, strict=True)]
    texts: list[Blob] = []
    examples: list[list[Blob]] = [[] for _ in cells]
    for name in names:
        known = [(i, each[name]) for i, each in enumerate(documents) if name in each]
        # a cell whose text of this name is another one does not take part
        known = [(i, document) for i, document in known if document.text == known[0][1].text]
        axis = common_axis([document.spans for _, document in known])
        for (i, _), numbers in zip(known, axis.numbers, strict=True):
            found = _example(readings[i][name], cells[i].maps, _Words(numbers, len(axis.words)))
            examples[i].append({"t": len(texts), **found})
        texts.append(shown_text(name, axis, [document for _, document in known]))
    return texts, examples


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
        "m": _defined(reading.measures, READ),
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
    if weights or most == 0:
        return scores
    before_point = math.ceil(math.log10(most))  # digits; below zero for the zeros after it
    return scores.round(RECKONED - before_point)


def _logits(reading: Reading, on: _Words) -> list[Any] | None:
    """None where they are not known, or of more words than are shown."""
    logits, weights = reading.logits, reading.maps.get("attention")
    if logits is None or weights is None or on.cut:
        return None
    said = averaged(logits, weights, on.numbers, on.width)
    return [numbers(line, RECKONED) if np.isfinite(line).all() else None for line in said]


def _defined(values: Mapping[str, float], digits: int) -> Blob:
    short = {key: number(value, digits) for key, value in values.items()}
    return {key: value for key, value in short.items() if value is not None}


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


OTHER = 4000
"""Characters of the other text of a pair."""


def shown_text(name: str, axis: Axis, documents: Sequence[Document]) -> Blob:
    first = documents[0]
    shown = [text(first.surface(span).strip()) for span in axis.words[:MOST_WORDS]]
    found: Blob = {"id": text(name), "w": shown, "y": first.label}
    found |= _second(axis, documents, len(shown))
    marks = _marks(axis, documents)
    if marks is not None:
        found["r"] = marks[:MOST_WORDS]
    about = {
        place
        for document, places in zip(documents, axis.numbers, strict=True)
        for number, place in enumerate(places)
        if number in document.about and place < MOST_WORDS
    }
    if about:
        found["about"] = sorted(about)
    if len(axis.words) > MOST_WORDS:
        found["cut"] = len(axis.words)
    return found


def _second(axis: Axis, documents: Sequence[Document], shown: int) -> Blob:
    """Of a pair: how many words are of the first text, where some are of the second; and the
    other text as a whole, where some model did not attend to its words."""
    found: Blob = {}
    behind = documents[0].behind
    words = sum(start < behind for start, _ in axis.words)
    if words < shown:
        found["a"] = words
    other = next((each.other for each in documents if each.other), "")
    if other and any(all(start < behind for start, _ in each.spans) for each in documents):
        found["b"] = text(other, OTHER)
    return found


def _marks(axis: Axis, documents: Sequence[Document]) -> list[int] | None:
    """1 for a word any of whose tokens people marked."""
    for document, places in zip(documents, axis.numbers, strict=True):
        if document.marked is not None:
            marks = [0] * len(axis.words)
            for place, mark in zip(places, document.marked, strict=True):
                marks[place] |= int(mark)
            return marks
    return None


MANY = 100


def few_classes(
    classes: Sequence[str], texts: Sequence[Blob], examples: Sequence[Sequence[Blob]]
) -> list[str]:
    """With more than a hundred, the texts and examples are numbered anew by those that some
    text has as its label or some model predicts."""
    if len(classes) <= MANY:
        return list(classes)
    lines = [line for part in examples for line in part]
    used = sorted({line["p"] for line in lines} | {t["y"] for t in texts if t["y"] >= 0})
    place = {number: new for new, number in enumerate(used)}
    for line in lines:
        line["p"] = place[line["p"]]
    for each in texts:
        each["y"] = place.get(each["y"], -1)
    return [str(classes[n]) if n < len(classes) else f"class {n}" for n in used]


MEAN = 6
"""Significant digits of a mean."""


def put_examples(sheet: Holder, cells: Sequence[Cell], most: int = 500) -> bool:
    """At most so many texts in all, shared out evenly among the corpora; False where there is
    nothing to show. The index is the blob `examples`."""
    groups = by_corpus(told_apart(cells))
    corpora: list[Blob] = []
    models: list[Blob] = []
    for group in groups:
        names = chosen(group, max(1, most // len(groups)), NUMBERS // len(groups))
        texts, examples = assembled(group, names)
        key = f"c{len(corpora)}"
        classes = few_classes(class_names(group), texts, examples)
        sheet.put(f"texts-{key}", {"texts": texts})
        corpora.append(
            {
                "key": key,
                "name": text(dataset_name(group[0].corpus)),
                "classes": [text(name) for name in classes],
                "texts": f"texts-{key}",
            }
        )
        for cell, own in zip(group, examples, strict=True):
            model = _model(f"m{len(models)}", key, cell, own)
            sheet.put(model["blob"], {"examples": own})
            models.append(model)
    if models:
        sheet.put("examples", {"corpora": corpora, "cells": models})
    return bool(models)


def _model(key: str, corpus: str, cell: Cell, examples: Sequence[Blob]) -> Blob:
    signed = _signed(examples)
    return {
        "key": key,
        "corpus": corpus,
        "model": text(cell.model),
        "seed": text(cell.seed),
        "source": cell.source,
        "blob": f"cell-{key}",
        "shown": len(examples),
        "of": len(cell.names),
        "maps": [_map(each, each.key in signed) for each in cell.maps],
        "measures": [
            {"key": m.key, "title": text(m.title), "descending": m.descending}
            for m in cell.measures
        ],
        "means": _defined(cell.means, MEAN),
        "note": text(cell.note),
        **({"run": text(cell.run)} if cell.run else {}),
        **({"audit": cell.audit} if cell.audit is not None else {}),
    }


def _map(each: Map, signed: bool) -> Blob:
    """What is not there is false, or nothing."""
    more = {"measure": each.measure, "searched": each.searched, "weights": each.weights}
    return {
        "key": each.key,
        "title": text(each.title),
        "signed": signed,
        "kind": each.kind,
        **{name: value for name, value in more.items() if value},
    }
