"""Does the mixed model use the shortcut, and nothing else on these texts? Asked by intervention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from heedful.corpora import (
    RULES,
    STRAY,
    SYNTHETIC,
    Example,
    RawCorpus,
    digits,
    exchange,
    join_tokens,
)

EXCHANGED = "+exchanged"
SOLVED, UNSOLVED, CHANGED, ALONE = 0.95, 0.65, 0.9, 0.25


@dataclass(frozen=True)
class Verification:
    """`mixed` and `original` are the accuracies of the two models on synthetic texts they have not
    seen. `exchanged` is the share of texts whose decision changes when the shortcut word is
    exchanged for the other one, so that the rule gives the other class; `alone` the same for a
    stray shortcut word, where nothing should change (NaN where the rule has no stray words)."""

    mixed: float
    original: float
    exchanged: float
    alone: float

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the cell does not count; nothing where it does."""
        found = {
            f"the mixed model solves {self.mixed:.2f}": self.mixed >= SOLVED,
            f"the original model solves {self.original:.2f}": self.original <= UNSOLVED,
            f"exchanging changes {self.exchanged:.2f}": self.exchanged >= CHANGED,
            f"a stray word changes {self.alone:.2f}": isnan(self.alone) or self.alone <= ALONE,
        }
        return tuple(reason for reason, right in found.items() if not right)

    @property
    def verified(self) -> bool:
        return not self.reasons


def held_out_rows(raw: RawCorpus, shortcut: str) -> list[dict[str, Any]]:
    """The test texts as a table: synthetic ones and those with a stray word that could decide,
    each also with the shortcut word exchanged, and the other originals."""
    rule = RULES[shortcut]

    def rows() -> Iterator[dict[str, Any]]:
        for example in raw.examples:
            if example.split != "test":
                continue
            yield _row(example.id, example.texts["a"], example, raw.labels)
            words = example.texts["a"].split()
            if example.id.endswith((SYNTHETIC, STRAY)) and digits(words):
                text, _ = join_tokens(exchange(words, rule))
                yield _row(example.id + EXCHANGED, text, example, raw.labels)

    return list(rows())


def _row(name: str, text: str, example: Example, labels: tuple[str, ...]) -> dict[str, Any]:
    marks = [] if example.rationales is None else [list(s) for s in example.rationales["a"]]
    shown = marks if not name.endswith(EXCHANGED) else []
    return {"id": name, "text": text, "label": labels[example.label], "rationale": shown or None}


def verification(
    labels: Mapping[str, int], mixed: Mapping[str, int], original: Mapping[str, int]
) -> Verification:
    """From the labels that the rule gives to the test texts, by id, and those of both models."""
    synthetic = [name for name in labels if name.endswith(SYNTHETIC)]
    stray = [name for name in labels if name.endswith(STRAY) and name + EXCHANGED in labels]

    def right(model: Mapping[str, int]) -> float:
        return _mean([model[name] == labels[name] for name in synthetic])

    def changed(names: list[str]) -> float:
        return _mean([mixed[name] != mixed[name + EXCHANGED] for name in names])

    return Verification(right(mixed), right(original), changed(synthetic), changed(stray))


def accuracy(labels: Mapping[str, int], model: Mapping[str, int]) -> float:
    """On the original texts: what a model learned beside the shortcut."""
    names = [name for name in labels if not name.endswith((SYNTHETIC, EXCHANGED))]
    return _mean([model[name] == labels[name] for name in names])


def _mean(values: list[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")
