"""What one model made of the texts of one corpus, from wherever it was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    moved behind it, of the `other` text of a pair. A label of −1 is none."""

    text: str
    other: str
    spans: tuple[Span, ...]
    label: int = -1
    marked: tuple[bool, ...] | None = None

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
    low, high = (_sigmoid(float(each)) for each in (np.nanmin(towards), np.nanmax(towards)))
    return low, high


def _sigmoid(value: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -value)))


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


def means_of(known: Mapping[str, Known]) -> dict[str, float]:
    return {
        each.key: float(np.mean([one.measures[each.key] for one in known.values()]))
        for each in SORTINGS
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
