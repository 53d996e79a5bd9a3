"""What one model made of the texts of one corpus, from wherever it was measured; which texts are
shown, drawn by rule; and which cells can be compared text by text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from heedful.report.formats import plain

Span = tuple[int, int]
Numbers = NDArray[np.float64]
ATTENTION, FURTHEST, EXPLANATION, FLOOR = "attention", "furthest", "explanation", "floor"
"""Kinds of maps."""
GAP = 1
"""Characters between the two texts of a pair, counted as one text."""


@dataclass(frozen=True)
class Document:
    """A text with the tokens a model's maps are about. `spans` are characters of `text` or,
    moved behind it, of the `other` text of a pair. A label of −1 is none. `about` are the numbers
    of the tokens that the prediction is about."""

    text: str
    other: str
    spans: tuple[Span, ...]
    label: int = -1
    marked: tuple[bool, ...] | None = None
    about: tuple[int, ...] = ()

    @property
    def behind(self) -> int:
        """Where the other text begins."""
        return len(self.text) + GAP

    def surface(self, span: Span) -> str:
        """What stands there; nothing of ours lies on both texts."""
        start, end = span
        if start >= self.behind:
            return self.other[start - self.behind : end - self.behind]
        return self.text[start:end]


@dataclass(frozen=True)
class Reading:
    """One text as a model read it. Maps and logits `[tokens, logits]` have a number per token
    of its document, NaN for one that it did not read. Bias is part of the logits."""

    predicted: int
    confidence: float
    maps: Mapping[str, Numbers]
    logits: Numbers | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    reach: tuple[float, float] | None = None
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    operator: str = ""


@dataclass(frozen=True)
class Map:
    """`measure` names the measure that says how far it is from attention. What was `searched`
    may not be the furthest there is. The error of `weights` is a share of each weight; that of
    other scores a share of the largest."""

    key: str
    title: str
    kind: str = EXPLANATION
    measure: str = ""
    searched: bool = False
    weights: bool = False


@dataclass(frozen=True)
class Sorting:
    """A number that texts can be put in order by."""

    key: str
    title: str
    descending: bool = True


@dataclass(frozen=True)
class Cell:
    """One model on one corpus. Nothing is unpacked before it is known which texts are shown:
    `documents` and `readings` are asked for some of the `names`. Of those in `whole` more is
    known than of the others, so they are shown first. `run` tells it from others of the same
    model; `audit` is the place of its audit among those of the page."""

    corpus: str
    classes: Sequence[str]
    model: str
    seed: str
    source: str
    names: Sequence[str]
    maps: Sequence[Map]
    measures: Sequence[Sorting]
    means: Mapping[str, float]
    documents: Callable[[Sequence[str]], Mapping[str, Document]]
    readings: Callable[[Sequence[str]], Mapping[str, Reading]]
    whole: frozenset[str] = frozenset()
    logits: int = 0
    note: str = ""
    run: str = ""
    audit: int | None = None


def reach_of(logits: Numbers, predicted: int) -> tuple[float, float] | None:
    """The probabilities of the predicted class that some attention gives: with two classes
    between those of single tokens. With more, the highest may be a mixture's: not known."""
    if not logits.size or logits.shape[1] > 2:
        return None
    one = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    towards = one if predicted == 1 else -one
    return float(expit(np.nanmin(towards))), float(expit(np.nanmax(towards)))


COLUMNS = ["predicted", "label", "confidence", "length"]
SORTINGS = (Sorting("confidence", "confidence"), Sorting("length", "length"))


class Known(NamedTuple):
    """A label of −1 is none."""

    predicted: int
    label: int
    confidence: float
    length: float

    @property
    def measures(self) -> dict[str, float]:
        return {"confidence": self.confidence, "length": self.length}


def known_texts(table: pd.DataFrame) -> dict[str, Known]:
    """By text; one that nothing was predicted for is left out."""
    once = table.drop_duplicates("example")
    once = once[once["predicted"].notna()]
    columns = (once[name].to_numpy() for name in ["example", *COLUMNS])
    return {
        str(name): Known(int(p), -1 if pd.isna(y) else int(y), float(c), float(n))
        for name, p, y, c, n in zip(*columns, strict=True)
    }


FURTHEST_AWAY = Sorting("furthest", "furthest attention, same prediction (JSD)")
SHUFFLED = Sorting("shuffled", "output moved by shuffling")
MARKED = Sorting("plausible", "attention finds what people marked (AUPRC)", descending=False)


def disagreement(name: str, title: str) -> Sorting:
    """Of attention with a map."""
    return Sorting(f"disagreement_{name}", f"attention against {title} (1 − τ)")


def searched(by: str) -> Sorting:
    """What an audit or a study found."""
    title = f"furthest found by the {by}, same prediction: a lower bound (JSD)"
    return Sorting(f"furthest_found_{by}", title)


def searched_as_spread(by: str) -> Sorting:
    """The same among attention that is as spread out as the learned one."""
    title = f"furthest found by the {by}, as spread out: a lower bound (JSD)"
    return Sorting(f"furthest_spread_{by}", title)


FURTHEST_FOUND = "furthest attention found, same prediction (a lower bound)"
FURTHEST_OF_ALL = "furthest attention, same prediction (exact)"


TITLES = {
    "gradient": "gradient norm",
    "gradient_input": "gradient × input",
    "leave_one_out": "leave-one-out",
}
"""Where underscores as blanks would not do."""


def title_of(name: str) -> str:
    """`occlusion:operator=mask` as `occlusion (mask)`."""
    base = name.partition(":")[0]
    return plain(name).replace(plain(base), TITLES.get(base, plain(base)), 1)


def listed(value: Any) -> list[Any]:
    """What is missing in a table may be None or NaN: an empty list."""
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else []


def padded(scores: Any, length: int) -> Numbers:
    """Scores for so many words: NaN for those that were cut off."""
    found = np.full(length, math.nan)
    given = np.asarray(scores, dtype=np.float64).ravel()[:length]
    found[: len(given)] = np.where(np.isfinite(given), given, math.nan)
    return found


def drawn(names: Iterable[str]) -> list[str]:
    """By a hash of their names: the first so many are a random sample."""

    def place(name: str) -> tuple[bytes, str]:
        return hashlib.blake2b(name.encode("utf8", "replace"), digest_size=8).digest(), name

    return sorted(names, key=place)


LEAST = 10
"""Texts of a corpus that are shown however long they are."""
NUMBERS = 300_000
"""Of all maps together: a number takes up to seven bytes of a page."""
MOST_WORDS = 2000
"""Words of a text; what follows is cut off."""


def chosen(cells: Sequence[Cell], most: int, numbers: int) -> list[str]:
    """Of one corpus at most so many texts, as long as their maps have at most so many numbers.
    Texts that more of the models have read come first."""
    order = _order(cells)[:most]
    documents = [cell.documents(known_of(cell, order)) for cell in cells]
    found: list[str] = []
    spent = 0
    for name in order:
        pairs = zip(cells, documents, strict=True)
        spent += sum(_cost(cell, known[name]) for cell, known in pairs if name in known)
        if spent > numbers and len(found) >= LEAST:
            break
        found.append(name)
    return found


def known_of(cell: Cell, names: Sequence[str]) -> list[str]:
    """Those of the names that a cell knows, in their order."""
    known = set(cell.names)
    return [name for name in names if name in known]


def _order(cells: Sequence[Cell]) -> list[str]:
    known = Counter(name for cell in cells for name in cell.names)
    known.update(name for cell in cells for name in cell.names if name in cell.whole)
    return sorted(drawn(known), key=lambda name: -known[name])


def _cost(cell: Cell, document: Document) -> int:
    """Numbers to be reckoned with have twice the digits."""
    return min(len(document.spans), MOST_WORDS) * (len(cell.maps) + 1 + 2 * cell.logits)


LOOKED_AT = 50
"""Shared texts that are compared before two cells count as being of one corpus."""
_NUMBER = re.compile(r"(LABEL_)?\d+")


def by_corpus(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups of cells with the same name, ids, texts and classes, in the order of the first."""
    groups: list[list[Cell]] = []
    for cell in cells:
        for group in groups:
            if _same(group[0], cell):
                group.append(cell)
                break
        else:
            groups.append([cell])
    return groups


def _same(one: Cell, other: Cell) -> bool:
    """Classes of other names are the same where both number the labels of all texts alike."""
    shared = drawn(set(one.names) & set(other.names))[:LOOKED_AT]
    if one.corpus != other.corpus or not shared:
        return False
    first, second = one.documents(shared), other.documents(shared)
    pairs = [(first[name], second[name]) for name in shared]
    named = _classes(one) == _classes(other)
    numbered = len(one.classes) == len(other.classes) and all(a.label >= 0 for a, _ in pairs)
    alike = all(a.text == b.text and a.label == b.label for a, b in pairs)
    return alike and (named or numbered)


def class_names(cells: Sequence[Cell]) -> Sequence[str]:
    """Those of the first cell that has more than numbers to say (`LABEL_0`)."""
    named = (cell.classes for cell in cells if not all(map(_NUMBER.fullmatch, cell.classes)))
    return next(named, cells[0].classes)


def _classes(cell: Cell) -> list[str]:
    return [name.casefold() for name in cell.classes]


def told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """Runs that would still be called the same are numbered, in their order."""
    count, seen = Counter(map(_name, cells)), Counter[tuple[str, ...]]()
    found = []
    for cell in cells:
        seen[_name(cell)] += 1
        twice = bool(cell.run) and count[_name(cell)] > 1
        run = f"{cell.run}, no. {seen[_name(cell)]}" if twice else cell.run
        found.append(replace(cell, run=run))
    return found


def _name(cell: Cell) -> tuple[str, ...]:
    return cell.corpus, cell.model, cell.seed, cell.source, cell.run
