"""Gradient × input, integrated gradients and occlusion: Captum's time beside Heedful's.

Captum is run twice: as its tutorials run it (one text at a time, 50 steps), and as well as it
can (padded batches of like length, several steps or perturbations at once; for occlusion the
fastest of some settings). It keeps transformers' fast attention; Heedful's stays open to edits.

Integrated gradients are compared at an equal completeness gap: Heedful is given as tolerance
the largest relative gap that Captum left in any text; in its best setting Captum takes as few
steps as bring every text within Heedful's default tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from bench.captum_data import FILLERS, FULL, QUICK, Size, batches, classifier, plain, texts
from bench.captum_theirs import Captum, Scores
from bench.memory import Measured, measure
from bench.table import COLUMNS, Row, aligned, row_cells
from heedful.models.hf.attach import attach
from heedful.models.output import probability
from heedful.removal.removed import removed_many
from heedful.saliency.explain import explain
from heedful.saliency.gradient_input import gradient_input
from heedful.saliency.integrated_gradients import FLOOR, integrated
from heedful.saliency.occlusion import PIECE as OCCLUSION
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask

TOLERANCE, DOCUMENTED_STEPS = 0.01, 50
STEPS = (8, 16, 32, 50, 64, 100, 128)
LARGEST = {True: STEPS[1], False: STEPS[-1]}


def captum_rows(quick: bool, only: str = "") -> list[Row]:
    """Two rows for each method (or those whose name begins so)."""
    size, (module, name) = QUICK if quick else FULL, classifier(quick)
    theirs = plain(module)
    with attach(module, FILLERS) as model:
        batch = _labelled(model, texts(size, module.config.vocab_size), size)
        found = []
        trial = Trial(model, theirs, batch, size, name, quick)
        chosen = [rows for method, rows in METHODS.items() if method.startswith(only)]
        for row in chain.from_iterable(rows(trial) for rows in chosen):
            print(f"{row.part}: {row.ratio:.2f}×", file=sys.stderr, flush=True)
            found.append(row)
        return found


@dataclass(frozen=True)
class Trial:
    model: Model
    module: Any
    texts: Batch
    size: Size
    name: str
    quick: bool

    def ours(self, scores: Callable[[Batch], Tensor]) -> Measured:
        """In batches of like length, as an audit would."""

        def work() -> Scores:
            found = [(batch, scores(batch)) for batch in batches(self.texts, self.size.batch)]
            return {
                name: row for each, rows in found for name, row in zip(each.ids, rows, strict=True)
            }

        return self._timed(work)

    def best(self, settings: Iterable[tuple[int, int | None]], call: str, *args: Any) -> Measured:
        """The fastest of Captum's settings."""
        methods = [getattr(Captum(self.module, *setting), call) for setting in settings]
        timed = [self._timed(lambda m=method: m(self.texts, *args)) for method in methods]
        return min(timed, key=lambda measured: measured.seconds)

    def documented(self, call: str, *args: Any) -> Measured:
        return self.best([(1, None)], call, *args)

    def row(self, part: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        found = theirs.value[0] if isinstance(theirs.value, tuple) else theirs.value
        apart = max(_apart(found[name], row) for name, row in ours.value.items())
        label = f"{part} ({self.name})"
        note = "; ".join(filter(None, [note, f"scores within {apart:.2%} of a text's largest"]))
        times = theirs.seconds, ours.seconds, theirs.peak_mb, ours.peak_mb
        return Row(label, f"{self.size.texts} texts", *times, note)

    def _timed(self, work: Callable[[], Any]) -> Measured:
        return measure(work, self.size.repeats, enough=20.0)


def _gradient_rows(trial: Trial) -> Iterable[Row]:
    """Half a second each, so the machine's moods count: in turns, and the fastest of each."""
    rounds = [
        (
            trial.best([(trial.size.batch, None)], "gradient_input"),
            trial.ours(lambda batch: _gradient_input(trial.model, batch)),
        )
        for _ in range(1 if trial.quick else 4)
    ]
    best, ours = (min(each, key=lambda one: one.seconds) for each in zip(*rounds, strict=True))
    yield trial.row("gradient × input, documented", trial.documented("gradient_input"), ours)
    yield trial.row("gradient × input, best", best, ours)


def _occlusion_rows(trial: Trial) -> Iterable[Row]:
    many = trial.size.batch
    ours = trial.ours(
        lambda batch: explain(OCCLUSION, trial.model, batch, batch.labels, operator="mask")
    )
    yield trial.row("occlusion, documented", trial.documented("occlusion"), ours)
    settings = [(1, 32), (many, 1), (many, 4)][: 1 if trial.quick else None]
    yield trial.row("occlusion, best", trial.best(settings, "occlusion"), ours)


def _integrated_rows(trial: Trial) -> Iterable[Row]:
    many, change = trial.size.batch, _change(trial.model, trial.texts)
    documented = trial.documented("integrated_gradients", DOCUMENTED_STEPS)
    gap = _relative(documented.value[1], change)
    ours = trial.ours(lambda batch: _integrated(trial.model, batch, gap))
    yield trial.row(
        f"integrated gradients, documented ({DOCUMENTED_STEPS} steps)",
        documented,
        ours,
        f"every text within a gap of {gap:.2%}",
    )
    steps = _fewest(trial, change)
    settings = [(many, 128)]
    best = trial.best(settings, "integrated_gradients", steps)
    gap = max(TOLERANCE, _relative(best.value[1], change))
    ours = trial.ours(lambda batch: _integrated(trial.model, batch, gap))
    yield trial.row(
        f"integrated gradients, best ({steps} steps)",
        best,
        ours,
        f"every text within a gap of {gap:.2%}",
    )


METHODS = {
    "gradient": _gradient_rows,
    "integrated": _integrated_rows,
    "occlusion": _occlusion_rows,
}


def _apart(theirs: Tensor, ours: Tensor) -> float:
    """The largest difference as a share of the text's largest score."""
    n = min(len(theirs), len(ours))  # columns of longer texts in either's batch
    return float((theirs[:n] - ours[:n]).abs().max() / theirs.abs().max().clamp_min(1e-12))


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
        left = left.take(torch.tensor(open_))
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


def _gradient_input(model: Model, batch: Batch) -> Tensor:
    scores = gradient_input(model, batch, batch.labels, through_attention=True, magnitude=False)
    return to_words(scores, batch.texts["a"])


def _integrated(model: Model, batch: Batch, tolerance: float) -> Tensor:
    found = integrated(model, batch, batch.labels, tolerance=tolerance)
    return to_words(found.scores, batch.texts["a"])


def _labelled(model: Model, batch: Batch, size: Size) -> Batch:
    """Every text with the class that is predicted for it."""
    predicted: dict[str, int] = {}
    with torch.no_grad():
        for part in batches(batch, size.batch):
            predicted |= zip(part.ids, model(part).logits.argmax(-1).tolist(), strict=True)
    return Batch(batch.ids, batch.texts, torch.tensor([predicted[name] for name in batch.ids]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.captum", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", default="", choices=list(METHODS), help="one method")
    options = parser.parse_args()
    print(aligned(COLUMNS, map(row_cells, captum_rows(options.quick, options.only))))


if __name__ == "__main__":
    main()
