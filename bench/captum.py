"""Every method that Captum and Heedful both have: Captum's time beside Heedful's.

Captum is run twice: as its tutorials run it (one text at a time), and as well as it can (padded
batches of like length, several steps or perturbations at once; where there is a choice, the
fastest of some settings).

What samples is compared at an equal number of samples, integrated gradients at an equal
completeness gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench.captum_baselines import (
    FEW,
    FILLERS,
    FULL,
    QUICK,
    QUICK_FEW,
    Captum,
    Sampled,
    Scores,
    Size,
    batches,
    classifier,
    plain,
    texts,
)
from bench.measure import Cost, Measured, Row, Setting, Skip, joined, measure
from heedful.attributions import FLOOR, explain, integrated
from heedful.models import attach, probability
from heedful.perturbations import removed_many
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask

Work = Callable[[Batch], Any]
CLOSE, ROUGHLY = 1e-3, 0.1  # of a text's largest score


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

        def work(texts: Batch) -> Scores:
            found = [(batch, scores(batch)) for batch in batches(texts, self.size.batch)]
            return {
                name: row for each, rows in found for name, row in zip(each.ids, rows, strict=True)
            }

        return self._timed(work)

    def best(
        self,
        settings: Iterable[tuple[int, int | None]],
        call: str,
        *args: Any,
        kind: type[Captum] = Captum,
    ) -> Measured:
        """The fastest of Captum's settings."""
        methods = [getattr(kind(self.module, *setting), call) for setting in settings]
        timed = [self._timed(lambda texts, m=method: m(texts, *args)) for method in methods]
        return min(timed, key=lambda measured: measured.seconds)

    def documented(self, call: str, *args: Any, kind: type[Captum] = Captum) -> Measured:
        return self.best([(1, None)], call, *args, kind=kind)

    def row(self, part: str, how: str, theirs: Measured, ours: Measured, note: str) -> Row:
        n = len(self.texts)
        what = f"{n} texts of 4 to {self.size.longest} tokens, {self.name}"
        costs = Cost.of(theirs), Cost.of(ours)
        return Row("captum", part, what, f"Captum, {how}", *costs, note)

    def equal(self, part: str, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        """Where nothing is sampled all scores must be the same: nearly to single precision, and
        roughly where the note allows for a gap of completeness."""
        found = theirs.value[0] if isinstance(theirs.value, tuple) else theirs.value
        apart = max(_apart(found[name], row) for name, row in ours.value.items())
        if not apart < (ROUGHLY if note else CLOSE):
            raise ValueError(f"{part}: scores differ by {apart:.2%} of a text's largest")
        note = joined(note, f"scores within {apart:.1g} of a text's largest")
        return self.row(part, how, theirs, ours, note)

    def alike(self, part: str, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        """Where both sample: how well the scores of a text correlate, on average."""
        found = [_correlation(theirs.value[name], row) for name, row in ours.value.items()]
        mean = torch.stack(found).nanmean()
        return self.row(part, how, theirs, ours, joined(note, f"mean correlation {mean:.2f}"))

    def _timed(self, work: Work) -> Measured:
        """After a few texts, so that nothing is paid that is made once."""
        work(self.texts.take(torch.arange(2, device=self.texts.labels.device)))
        return measure(lambda: work(self.texts), self.size.repeats, enough=8.0)


@contextmanager
def trial(setting: Setting, size: Size) -> Iterator[Trial]:
    """Captum keeps transformers' fast attention; Heedful's stays open to edits."""
    module, name = classifier(setting.quick)
    module = module.to(setting.device)
    theirs = plain(module)
    with attach(module, FILLERS) as model:
        batch = texts(size, module.config.vocab_size).to(setting.device)
        yield Trial(model, theirs, _labelled(model, batch, size), size, name, setting.quick)


def _apart(theirs: Tensor, ours: Tensor) -> float:
    """The largest difference as a share of the text's largest score."""
    n = min(len(theirs), len(ours))  # columns of longer texts in either's batch
    return float((theirs[:n] - ours[:n]).abs().max() / theirs.abs().max().clamp_min(1e-12))


def _correlation(theirs: Tensor, ours: Tensor) -> Tensor:
    n = min(len(theirs), len(ours))
    return torch.corrcoef(torch.stack([theirs[:n], ours[:n]]))[0, 1]


def _labelled(model: Model, batch: Batch, size: Size) -> Batch:
    """Every text with the class that is predicted for it."""
    predicted: dict[str, int] = {}
    with torch.no_grad():
        for part in batches(batch, size.batch):
            predicted |= zip(part.ids, model(part).logits.argmax(-1).tolist(), strict=True)
    labels = torch.tensor([predicted[name] for name in batch.ids], device=batch.labels.device)
    return Batch(batch.ids, batch.texts, labels)


# Integrated gradients beside Captum's, at an equal completeness gap.
#
# Heedful is given as tolerance the largest relative gap that Captum left in any text; in its best
# setting Captum takes as few steps as bring every text within Heedful's default tolerance.


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


SAMPLES, NOISE = {True: 20, False: 100}, 0.15
NOISY = 16  # copies of a text for SmoothGrad
EXACT = 10  # words of a text whose subsets can all be asked about


def rows(method: str, setting: Setting) -> Iterator[Row]:
    """Captum as documented, and in its best setting."""
    few = method in ("kernel_shap", "lime")
    sizes = (QUICK_FEW, FEW) if few else (QUICK, FULL)
    with trial(setting, sizes[not setting.quick]) as each:
        yield from METHODS[method](each)


def _gradient(trial: Trial) -> Iterator[Row]:
    yield from _by_gradient(trial, "gradient", "gradient")


def _gradient_input(trial: Trial) -> Iterator[Row]:
    yield from _by_gradient(trial, "gradient_input", "gradient × input")


def _by_gradient(trial: Trial, method: str, name: str) -> Iterator[Row]:
    """Half a second each, so the machine's moods count: in turns, and the fastest of each."""
    model = trial.model
    rounds = [
        (
            trial.best([(trial.size.batch, None)], method),
            trial.ours(lambda batch: explain(method, model, batch, batch.labels)),
        )
        for _ in range(1 if trial.quick else 3)
    ]
    best, ours = (min(each, key=_seconds) for each in zip(*rounds, strict=True))
    yield trial.equal(name, "documented", trial.documented(method), ours)
    yield trial.equal(name, "best", best, ours)


def _occlusion(trial: Trial) -> Iterator[Row]:
    many, model = trial.size.batch, trial.model
    ours = trial.ours(
        lambda batch: explain("occlusion", model, batch, batch.labels, operator="mask")
    )
    yield trial.equal("occlusion", "documented", trial.documented("occlusion"), ours)
    settings = [(1, 32), (many, 1), (many, 4)][: 1 if trial.quick else None]
    yield trial.equal("occlusion", "best", trial.best(settings, "occlusion"), ours)


def _smoothgrad(trial: Trial) -> Iterator[Row]:
    model, args = trial.model, ("smoothgrad", NOISY, NOISE)
    ours = trial.ours(
        lambda batch: explain("smoothgrad", model, batch, batch.labels, samples=NOISY, noise=NOISE)
    )
    documented = trial.documented(*args, kind=Sampled)
    yield trial.alike("SmoothGrad", "documented", documented, ours, f"{NOISY} samples")
    settings = [(trial.size.batch, 1), (trial.size.batch, 4)][: 1 if trial.quick else None]
    best = min(documented, trial.best(settings, *args, kind=Sampled), key=_seconds)
    yield trial.alike("SmoothGrad", "best", best, ours, f"{NOISY} samples")


def _kernel_shap(trial: Trial) -> Iterator[Row]:
    """Where all subsets can be asked about, the exact values judge both."""
    model, samples = trial.model, SAMPLES[trial.quick]
    ours = trial.ours(
        lambda batch: explain("kernel_shap", model, batch, batch.labels, samples=samples)
    )
    exact = _exact(trial)
    for how, at_once in (("documented", None), ("best", 32)):
        theirs = trial.best([(1, at_once)], "kernel_shap", samples, kind=Sampled)
        errors = f"{_error(theirs, exact):.2g}, ours {_error(ours, exact):.2g}"
        note = f"{samples} samples; mean error in {len(exact)} short texts: Captum {errors}"
        yield trial.alike("KernelSHAP", how, theirs, ours, note)


def _lime(trial: Trial) -> Iterator[Row]:
    model, samples = trial.model, SAMPLES[trial.quick]
    ours = trial.ours(lambda batch: explain("lime", model, batch, batch.labels, samples=samples))
    for how, at_once in (("documented", None), ("best", 32)):
        theirs = trial.best([(1, at_once)], "lime", samples, kind=Sampled)
        yield trial.alike("LIME", how, theirs, ours, f"{samples} samples")


def _lrp(trial: Trial) -> Iterator[Row]:
    """Tried, as a later Captum may have rules for it."""
    from captum.attr import LRP

    tokens = trial.texts.texts["a"].tokens[:1]
    try:
        LRP(trial.module).attribute(Captum(trial.module).embedding(tokens), target=0)
    except TypeError as error:
        raise Skip("Captum's LRP has no rules for all of BERT's modules") from error
    raise Skip("Captum's LRP accepts BERT now, and its rules are not compared with ours yet")
    yield  # a generator like the others


METHODS = {
    "gradient": _gradient,
    "gradient_input": _gradient_input,
    "integrated_gradients": integrated_rows,
    "smoothgrad": _smoothgrad,
    "occlusion": _occlusion,
    "kernel_shap": _kernel_shap,
    "lime": _lime,
    "lrp": _lrp,
}


def _seconds(measured: Measured) -> float:
    return measured.seconds


def _exact(trial: Trial) -> Scores:
    """Shapley values of the texts that are short enough."""
    words = word_mask(trial.texts.texts["a"]).sum(-1)
    some = trial.texts.take((words <= EXACT).nonzero().flatten())
    found = explain("kernel_shap", trial.model, some, some.labels, samples=2**EXACT)
    return dict(zip(some.ids, found, strict=True))


def _error(measured: Measured, exact: Scores) -> float:
    """Mean over texts of the largest error, as a share of the largest value."""
    found = []
    for name, values in exact.items():
        n = min(len(values), len(measured.value[name]))
        apart = (measured.value[name][:n] - values[:n]).abs().max()
        found.append(float(apart / values.abs().max()))
    return sum(found) / len(found)
