"""A corpus without its impermissible tokens: what a control model may see (pruthi2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from heedful.corpora.prepared import Prepared
from heedful.corpora.split import Side, Split
from heedful.errors import HeedfulError
from heedful.specs import ModelSpec


@dataclass(frozen=True)
class Blinded:
    """A prepared corpus whose texts have lost their marked tokens."""

    corpus: Prepared

    @property
    def task(self) -> str:
        return self.corpus.task

    @property
    def classes(self) -> int:
        return self.corpus.classes

    @property
    def words(self) -> list[str]:
        return self.corpus.words

    @property
    def vectors(self) -> Tensor:
        return self.corpus.vectors

    def split(self, name: str) -> Split:
        return blinded(self.corpus.split(name))


def shown_to(model: ModelSpec, corpus: Prepared) -> Prepared | Blinded:
    """The corpus as a model sees it, in training and whenever it is looked at."""
    return Blinded(corpus) if model.blind else corpus


def blinded(split: Split) -> Split:
    """The same examples, the marked tokens of side a deleted. Alignments are gone: positions
    have moved."""
    side = split.sides["a"]
    if side.impermissible is None:
        raise HeedfulError(
            "the corpus marks no impermissible tokens: name them (--param impermissible=…)."
        )
    rows = [_without(side, i, marks) for i, marks in enumerate(side.impermissible)]
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    fields = ("tokens", "starts", "ends", "rationales", "sentences", "impermissible")
    fewer = replace(side, **dict(zip(fields, columns or [[]] * len(fields), strict=True)))
    return replace(split, sides={**split.sides, "a": fewer}, alignments=None)


def _without(side: Side, i: int, marks: NDArray[np.bool_] | None) -> tuple[Any, ...]:
    own = (
        np.asarray(marks, dtype=bool) if marks is not None else np.zeros(len(side.starts[i]), bool)
    )
    ended = [False] if side.ended else []
    tokens = np.asarray(side.tokens[i])[~np.concatenate([[False], own, ended])]
    rationale = side.rationales[i]
    return (
        tokens,
        np.asarray(side.starts[i])[~own],
        np.asarray(side.ends[i])[~own],
        None if rationale is None else np.asarray(rationale)[~own],
        np.asarray(side.sentences[i])[~own],
        np.zeros(int((~own).sum()), dtype=bool),
    )
