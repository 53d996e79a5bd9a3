"""Impermissible tokens as arrays: of a text, or of each step of a target (pruthi2020).

Where a corpus marks none but is aligned, a target's step must not be seen to look at the words
it translates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from heedful.corpora.split import Split
from heedful.types import Batch

Forbidden = Mapping[str, NDArray[np.bool_]]
"""By example id `[steps, tokens]`, of the real tokens of side a. One line is for all steps."""


def has_forbidden(split: Split) -> bool:
    return split.sides["a"].impermissible is not None or split.alignments is not None


def forbidden(split: Split) -> Forbidden:
    """Of every example that has marks, or else an alignment."""
    found = {}
    for i, example in enumerate(split.ids):
        marks = split.impermissible(i)
        if marks is not None:
            found[example] = np.asarray(marks, dtype=bool)[None]
        elif split.alignment(i) is not None:
            found[example] = _by_step(split, i)
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


def _by_step(split: Split, i: int) -> NDArray[np.bool_]:
    """The step that writes a token of the target may not look at what it is aligned with; the
    end of the target has no such."""
    sizes = (len(split.sides["b"].starts[i]) + 1, len(split.sides["a"].starts[i]))
    lines = np.zeros(sizes, dtype=bool)
    links = split.alignment(i)
    if links is not None:
        lines[links[:, 1], links[:, 0]] = True
    return lines
