"""Decoders: inseq's time beside Heedful's, for every token that a model wrote after a prompt.

inseq is run as documented (what was written is given, and explained text by text, eager
attention), and in the fastest of some settings: transformers' fast attention where weights are
not asked for, several steps or perturbations at once, and inseq writing the text itself, which
lets it take several texts at once.

Integrated gradients are compared at an equal completeness gap, as beside Captum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench.inseq_data import FILLERS, FULL, QUICK, Size, decoder, steps, written
from bench.inseq_theirs import Inseq
from bench.memory import Measured, measure
from bench.row import Cost, Row, joined
from bench.setting import Setting
from heedful.models import attach, probability
from heedful.removal import removed
from heedful.saliency import FLOOR, explain
from heedful.types import Model
from heedful.words import word_mask

TITLES = {"gradient_input": "gradient × input", "integrated_gradients": "integrated gradients"}
OURS: dict[str, dict[str, Any]] = {"occlusion": {"operator": "unk", "magnitude": True}}
TOLERANCE, DOCUMENTED_STEPS, FEWER = 0.01, 50, (8, 16, 32)
CLOSE, ROUGHLY = 1e-3, 0.1  # of a token's largest score; roughly where a gap is allowed


def rows(method: str, setting: Setting) -> Iterator[Row]:
    size = QUICK if setting.quick else FULL
    module = decoder(size).to(setting.device)
    trial = Trial(module, method, size, written(module, size))
    if method == "integrated_gradients":
        yield from _integrated(trial)
        return
    ours = trial.ours(**OURS.get(method, {}))
    documented = trial.documented()
    yield trial.row("documented", documented, ours)
    best = min(documented, trial.best(_settings(method, size)), key=lambda each: each.seconds)
    yield trial.row("best", best, ours)


@dataclass(frozen=True)
class Trial:
    module: Any
    method: str
    size: Size
    tokens: Tensor

    def documented(self, **options: Any) -> Measured:
        return self._theirs("eager", [options])

    def best(self, settings: Iterable[dict[str, Any]]) -> Measured:
        return self._theirs("eager" if self.method == "attention" else "sdpa", settings)

    def ours(self, **params: Any) -> Measured:
        """All prompts at once, step by step."""
        with attach(self.module, FILLERS) as model:
            return self._timed(lambda tokens: self._explained(model, tokens, params))

    def row(self, how: str, theirs: Measured, ours: Measured, note: str = "") -> Row:
        found = theirs.value[0] if isinstance(theirs.value, tuple) else theirs.value
        apart = max(_apart(found[:, k], each) for k, each in enumerate(ours.value))
        if not apart < (ROUGHLY if note else CLOSE):
            raise ValueError(f"{self.method}: scores differ by {apart:.2%} of the largest")
        note = joined(note, f"scores within {apart:.1g} of a token's largest")
        title = TITLES.get(self.method, self.method)
        costs = Cost.of(theirs), Cost.of(ours)
        return Row("inseq", title, self.size.words, f"inseq, {how}", *costs, note)

    def _theirs(self, attention: str, settings: Iterable[dict[str, Any]]) -> Measured:
        """The fastest of some settings."""
        self.module.set_attn_implementation(attention)
        loaded = Inseq.load(self.module, self.method, self.size)
        gaps = self.method == "integrated_gradients"
        work: Callable[..., Any] = loaded.with_gap if gaps else loaded.scores
        found = [self._timed(lambda tokens, s=some: work(tokens, **s)) for some in settings]
        return min(found, key=lambda measured: measured.seconds)

    def _timed(self, work: Callable[[Tensor], Any]) -> Measured:
        """After one prompt, so that nothing is paid that is made once."""
        work(self.tokens[:1])
        return measure(lambda: work(self.tokens), self.size.repeats, enough=8.0)

    def _explained(self, model: Model, tokens: Tensor, params: dict[str, Any]) -> list[Tensor]:
        batches = steps(tokens, self.size)
        return [explain(self.method, model, each, each.labels, **params) for each in batches]


def _settings(method: str, size: Size) -> list[dict[str, Any]]:
    if method != "occlusion":
        return [{"batch": size.prompts}]
    return [{"perturbations_per_eval": 32}, {"batch": size.prompts, "perturbations_per_eval": 4}]


def _integrated(trial: Trial) -> Iterator[Row]:
    """In its best setting inseq takes as few steps as bring every token within the tolerance."""
    change = _change(trial)
    documented = trial.documented(n_steps=DOCUMENTED_STEPS)
    yield _integrated_row(trial, f"documented ({DOCUMENTED_STEPS} steps)", documented, change, 0.0)
    for fewer in FEWER:
        once = {"n_steps": fewer, "internal_batch_size": 128}
        best = trial.best([once, {**once, "batch": trial.size.prompts}])
        if _relative(best.value[1], change) <= TOLERANCE:
            break
    yield _integrated_row(trial, f"best ({fewer} steps)", best, change, TOLERANCE)


def _integrated_row(trial: Trial, how: str, theirs: Measured, change: Tensor, least: float) -> Row:
    gap = max(least, _relative(theirs.value[1], change))
    ours = trial.ours(baseline="unk", tolerance=gap)
    note = f"every token within a gap of {gap:.2g}" if gap else "no gap but single precision's"
    return trial.row(how, theirs, ours, note)


def _relative(gaps: Tensor, change: Tensor) -> float:
    """The largest, less what single precision explains."""
    return float(((gaps - FLOOR).clamp_min(0) / change).max())


def _change(trial: Trial) -> Tensor:
    """|f(x) − f(all tokens unknown)|: `[prompt, written]`."""
    found = []
    with attach(trial.module, FILLERS) as model:
        for batch in steps(trial.tokens, trial.size):
            there = word_mask(batch.texts["a"])
            each = [removed(model, batch, gone, "unk") for gone in (there & False, there)]
            whole, bare = (probability(logits, batch.labels) for logits in each)
            found.append((whole - bare).abs())
    return torch.stack(found, 1).cpu()


def _apart(theirs: Tensor, ours: Tensor) -> float:
    """The largest difference as a share of the row's largest score."""
    theirs, ours = theirs[:, : ours.shape[1]].cpu(), ours.cpu()
    return float(((theirs - ours).abs().amax(1) / ours.abs().amax(1).clamp_min(1e-12)).max())
