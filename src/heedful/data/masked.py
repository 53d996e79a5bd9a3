"""A prepared corpus in which some words are masked: each becomes the unknown word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from heedful.data.prepared import Prepared, Split
from heedful.specs import UNKNOWN

Masks = Mapping[str, NDArray[np.bool_]]
"""By example id `[tokens]`, of the real tokens of side a."""


class Masked(Prepared):
    """A prepared corpus as a model sees it that learns from masked texts."""

    def __init__(self, corpus: Prepared, masks: Masks) -> None:
        super().__init__(corpus.run)
        self._whole, self.masks = corpus, masks

    def split(self, name: str) -> Split:
        return masked(self._whole.split(name), self.masks)


def masked(split: Split, masks: Masks) -> Split:
    """The same examples; texts and places are kept, so rows still say which words they are of."""
    side = split.sides["a"]
    edges = (1, int(side.ended))
    tokens = [
        np.where(np.pad(np.asarray(masks[example], dtype=bool), edges), UNKNOWN, row)
        if example in masks
        else row
        for example, row in zip(split.ids, side.tokens, strict=True)
    ]
    return replace(split, sides={**split.sides, "a": replace(side, tokens=tokens)})
