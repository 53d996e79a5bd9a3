"""Impermissible tokens (pruthi2020) of a prepared corpus: as arrays, or taken out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from heedful.data.prepared import Prepared, Split
from heedful.errors import HeedfulError
from heedful.specs import ModelSpec
from heedful.types import Batch

Forbidden = Mapping[str, NDArray[np.bool_]]
"""By example id `[steps, tokens]`, of the real tokens of side a. One line is for all steps."""


def has_forbidden(split: Split) -> bool:
    """Whether `forbidden` has something to say: marks, or else alignments."""
    return split.sides["a"].impermissible is not None or split.alignments is not None


def forbidden(split: Split) -> Forbidden:
    """Of every example that has marks, or else an alignment: a target's step must not be seen to
    look at the words it translates."""
    found = {}
    for i, example in enumerate(split.ids):
        marks, links = split.impermissible(i), split.alignment(i)
        if marks is not None:
            found[example] = np.asarray(marks, dtype=bool)[None]
        elif links is not None:
            # the end of the target is aligned with nothing
            sizes = (len(split.sides["b"].starts[i]) + 1, len(split.sides["a"].starts[i]))
            found[example] = np.zeros(sizes, dtype=bool)
            found[example][links[:, 1], links[:, 0]] = True
    return found


def forbidden_next(whole: Split, given: Split) -> Forbidden:
    """The same, but only of the step that follows what is given of a target."""
    found = forbidden(whole)
    places = {example: len(given.sides["b"].starts[i]) for i, example in enumerate(given.ids)}
    return {
        example: marks if len(marks) == 1 else marks[places[example]][None]
        for example, marks in found.items()
        if example in places
    }


def laid_out(marks: Forbidden, batch: Batch, steps: int) -> Bool[Tensor, "b q k"]:
    """The marks at the positions of a padded batch; nothing where an example has none."""
    real = batch.texts["a"].mask.cpu().numpy()
    out = np.zeros((len(real), steps, real.shape[1]), dtype=bool)
    for row, example in enumerate(batch.ids):
        lines = marks.get(example, np.zeros((1, 0), dtype=bool))
        if lines.size:
            count = steps if len(lines) == 1 else min(steps, len(lines))
            out[row][:count, real[row]] = lines[:count]
    return torch.from_numpy(out).to(batch.texts["a"].mask.device)


class Blinded(Prepared):
    """A prepared corpus whose texts have lost their marked tokens."""

    def split(self, name: str) -> Split:
        return blinded(super().split(name))


def shown_to(model: ModelSpec, corpus: Prepared) -> Prepared:
    """The corpus as a model sees it, in training and whenever it is looked at."""
    return Blinded(corpus.run) if model.blind else corpus


def blinded(split: Split) -> Split:
    """The same examples, the marked tokens of side a deleted. Alignments are gone: positions
    have moved."""
    side = split.sides["a"]
    if side.impermissible is None:
        raise HeedfulError(
            "the corpus marks no impermissible tokens: name them (--param impermissible=…)."
        )
    keep = [
        np.ones(len(starts), bool) if marks is None else ~np.asarray(marks, dtype=bool)
        for starts, marks in zip(side.starts, side.impermissible, strict=True)
    ]

    def kept(column: list[Any]) -> list[Any]:
        pairs = zip(column, keep, strict=True)
        return [None if row is None else np.asarray(row)[stays] for row, stays in pairs]

    edges = (1, int(side.ended))
    ids = zip(side.tokens, keep, strict=True)
    fewer = replace(
        side,
        tokens=[np.asarray(row)[np.pad(stays, edges, constant_values=True)] for row, stays in ids],
        starts=kept(side.starts),
        ends=kept(side.ends),
        rationales=kept(side.rationales),
        sentences=kept(side.sentences),
        impermissible=[np.zeros(int(stays.sum()), dtype=bool) for stays in keep],
    )
    return replace(split, sides={**split.sides, "a": fewer}, alignments=None)
