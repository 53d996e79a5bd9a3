"""What an audit will cost, from a few texts measured now."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from heedful.auditing.measure import Measurer, health_texts
from heedful.auditing.spec import AuditSpec
from heedful.measures.randomised import torch_module
from heedful.saliency.prior import fit_prior
from heedful.subjects import open_subject

TIMED = 4


@dataclass(frozen=True)
class Estimate:
    """`passes_per_text` counts texts through the model."""

    texts: int
    timed: int
    seconds: float
    passes_per_text: float


def estimate(model: Any, data: Any, spec: AuditSpec, **options: Any) -> Estimate:
    """Texts of lengths spread over all lengths, timed and scaled up."""
    with open_subject(model, data, **options) as subject:
        lengths = subject.lengths
        order = np.argsort(lengths, kind="stable")
        timed = min(TIMED, len(order))
        places = [int((i + 0.5) * len(order) / timed) for i in range(timed)]
        batch = subject.encode(order[places])
        measure = Measurer(
            subject.model, spec, fit_prior([batch]), health_texts(batch.ids, spec.seed)
        )
        counted = [0]

        def count(module: torch.nn.Module, inputs: object, output: Any) -> None:
            counted[0] += len(output.logits)

        hook = torch_module(subject.model).register_forward_hook(count)
        start = time.perf_counter()
        try:
            measure(batch, batch.ids)
        finally:
            hook.remove()
        spent = time.perf_counter() - start
        return Estimate(len(order), timed, spent * len(order) / timed, counted[0] / timed)
