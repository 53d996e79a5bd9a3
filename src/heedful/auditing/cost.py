"""What an audit will cost, from a few texts measured now."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.auditing.measure import Measurer, health_texts
from heedful.auditing.spec import AuditSpec
from heedful.auditing.waves import WAVE, batches, waves
from heedful.measures import torch_module
from heedful.saliency import fit_prior
from heedful.subjects import Subject, open_subject

SLOW = 10.0
"""Seconds: where one text takes longer, a second one is timed and no more."""
QUICK = 4.0
"""Seconds: where a few texts take less, most of it is not the model, and a wave is timed too."""
PASSES = 1000
"""About how many runs of the model the usual measures take for a text: for a first guess."""


@dataclass(frozen=True)
class Estimate:
    """`passes_per_text` counts texts through the model; `timed` are the texts that were measured
    to know."""

    texts: int
    timed: int
    seconds: float
    passes_per_text: float


def estimate(model: Any, data: Any, spec: AuditSpec = AuditSpec(), **options: Any) -> Estimate:
    """How long `heedful.audit` of the same would take on this machine, whatever the model is: an
    `Adapter` too. Takes as long as a few texts."""
    with open_subject(model, data, **options) as subject:
        return estimate_subject(subject, spec)


def estimate_subject(subject: Subject, spec: AuditSpec) -> Estimate:
    """A batch takes some time whatever is in it, and each text some more. They are told apart by
    batches of two sizes, of texts spread over all lengths; where the model is slow, the texts
    are all that counts."""
    total = len(subject)
    few = many = _timed(subject, spec, 1)
    slow = few.seconds > SLOW
    if total > 1:
        many = _timed(subject, spec, min(total, 2 if slow else 4))
    if total > 4 and many.seconds < QUICK:
        few, many = many, _timed(subject, spec, min(total, WAVE))
    each = many.seconds / many.texts
    if not slow and many.texts > few.texts:
        each = max((many.seconds - few.seconds) / (many.texts - few.texts), 0.0)
    beside = max(many.seconds - each * many.texts, 0.0)
    parts = sum(1 for wave in waves(subject, spec.seed) for _ in batches(subject, wave))
    seconds = beside * parts + each * total
    return Estimate(total, many.texts, seconds, many.passes / many.texts)


def first_guess(subject: Subject) -> float:
    """Seconds an audit may take, from two runs of the model, which is cheap and rough."""
    batch = subject.encode(_spread(subject, min(len(subject), WAVE)))
    with torch.no_grad():
        subject.model(batch)
        start = time.perf_counter()
        subject.model(batch)
    return (time.perf_counter() - start) / len(batch) * PASSES * len(subject)


@dataclass(frozen=True)
class _Timing:
    texts: int
    seconds: float
    passes: int


def _timed(subject: Subject, spec: AuditSpec, texts: int) -> _Timing:
    batch = subject.encode(_spread(subject, texts))
    checked = health_texts(batch.ids, spec.seed)
    measure = Measurer(subject.model, spec, fit_prior([batch]), checked)
    counted = [0]

    def count(module: torch.nn.Module, inputs: object, output: Any) -> None:
        counted[0] += len(output.logits)

    hook = torch_module(subject.model).register_forward_hook(count)
    start = time.perf_counter()
    try:
        measure(batch, batch.ids)
    finally:
        hook.remove()
    return _Timing(texts, time.perf_counter() - start, counted[0])


def _spread(subject: Subject, count: int) -> NDArray[np.int64]:
    """Texts from the middle of as many parts of all, by length."""
    order = np.argsort(subject.lengths, kind="stable")
    places = [int((i + 0.5) * len(order) / count) for i in range(count)]
    return order[places]
