"""One decoding step of each target, so that writing the next word becomes a classification.

vashishth2019 looks at "the 25th-percentile length" of a sentence, which can be read in more
than one way; here it is the step after a quarter of the target's tokens.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from heedful.corpora.split import Side, Split

SHARE = 4


def at_a_quarter(split: Split) -> Split:
    """Side b ends after ⌊n/4⌋ tokens; the label is the word that follows there."""
    side = split.sides["b"]
    given = [1 + (len(ids) - 2) // SHARE for ids in side.tokens]
    labels = [int(ids[n]) for ids, n in zip(side.tokens, given, strict=True)]
    return replace(
        split,
        labels=torch.tensor(labels, dtype=torch.int64),
        sides={**split.sides, "b": _cut(side, given)},
        alignments=None,
    )


def _cut(side: Side, given: list[int]) -> Side:
    """The first `given` ids of each text, the start among them, and no end."""
    real = [n - 1 for n in given]
    return Side(
        [np.asarray(ids[:n]) for ids, n in zip(side.tokens, given, strict=True)],
        side.texts,
        [starts[:n] for starts, n in zip(side.starts, real, strict=True)],
        [ends[:n] for ends, n in zip(side.ends, real, strict=True)],
        [None] * len(real),
        [numbers[:n] for numbers, n in zip(side.sentences, real, strict=True)],
        ended=False,
    )
