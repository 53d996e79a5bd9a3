"""Every method that Captum and Heedful both have: Captum's time beside Heedful's.

Captum is run twice: as its tutorials run it (one text at a time), and as well as it can (padded
batches of like length, several steps or perturbations at once; where there is a choice, the
fastest of some settings).

What samples is compared at an equal number of samples, integrated gradients at an equal gap
(`captum_integrated`).
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.captum_data import FEW, FULL, QUICK, QUICK_FEW
from bench.captum_integrated import integrated_rows
from bench.captum_sampled import Sampled
from bench.captum_theirs import Captum, Scores
from bench.captum_trial import Trial, trial
from bench.memory import Measured
from bench.row import Row
from bench.setting import Setting, Skip
from heedful.saliency import explain
from heedful.words import word_mask

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
