"""Integrated gradients beside Captum's, at an equal completeness gap.

Heedful is given as tolerance the largest relative gap that Captum left in any text; in its best
setting Captum takes as few steps as bring every text within Heedful's default tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bench.captum_theirs import Captum, Scores
from bench.captum_trial import Trial
from bench.memory import Measured
from bench.row import Row
from heedful.models import probability
from heedful.removal import removed_many
from heedful.saliency import FLOOR, integrated
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask

TOLERANCE, DOCUMENTED_STEPS = 0.01, 50
STEPS = (8, 16, 32, 50, 64, 100, 128)
LARGEST = {True: STEPS[1], False: STEPS[-1]}


def integrated_rows(trial: Trial) -> Iterator[Row]:
    many, change = trial.size.batch, _change(trial.model, trial.texts)
    documented = trial.documented("integrated_gradients", DOCUMENTED_STEPS)
    yield _integrated_row(trial, f"documented ({DOCUMENTED_STEPS} steps)", documented, change, 0.0)
    steps = _fewest(trial, change)
    best = trial.best([(many, 128)], "integrated_gradients", steps)
    yield _integrated_row(trial, f"best ({steps} steps)", best, change, TOLERANCE)


def _integrated_row(trial: Trial, how: str, theirs: Measured, change: Scores, least: float) -> Row:
    gap = max(least, _relative(theirs.value[1], change))
    ours = trial.ours(lambda batch: _integrated(trial.model, batch, gap))
    note = f"every text within a gap of {gap:.2g}" if gap else "no gap but single precision's"
    return trial.equal("integrated gradients", how, theirs, ours, note)


def _fewest(trial: Trial, change: Scores) -> int:
    """As few steps as Captum needs for every text (the most we try, where that is not enough).
    A text that is within the tolerance is not asked again with more steps."""
    captum = Captum(trial.module, trial.size.batch, 128)
    allowed = [steps for steps in STEPS if steps <= LARGEST[trial.quick]]
    left = trial.texts
    for steps in allowed:
        gaps = captum.integrated_gradients(left, steps)[1]
        open_ = [n for n, name in enumerate(left.ids) if _share(gaps, change, name) > TOLERANCE]
        if not open_:
            return steps
        left = left.take(torch.tensor(open_, device=left.labels.device))
    return allowed[-1]


def _relative(gaps: Scores, change: Scores) -> float:
    """The largest gap of any text."""
    return max(_share(gaps, change, name) for name in gaps)


def _share(gaps: Scores, change: Scores, name: str) -> float:
    """A text's gap relative to its change, less what single precision explains."""
    return max(0.0, float(gaps[name]) - FLOOR) / float(change[name])


def _change(model: Model, batch: Batch) -> Scores:
    """|f(x) − f(baseline)| by text: the baseline is the text with every word masked."""
    there = word_mask(batch.texts["a"])
    gone = torch.stack([torch.zeros_like(there), there], 1)
    logits = removed_many(model, batch, gone, "mask")
    whole, bare = (probability(logits[:, k], batch.labels) for k in range(2))
    return dict(zip(batch.ids, (whole - bare).abs(), strict=True))


def _integrated(model: Model, batch: Batch, tolerance: float) -> Tensor:
    found = integrated(model, batch, batch.labels, tolerance=tolerance)
    return to_words(found.scores, batch.texts["a"])
