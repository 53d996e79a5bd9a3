"""How far attention can move with the same output: exact where it can be, else searched."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.auditing.spec import ATTENTION, AuditSpec
from heedful.auditing.table import Table
from heedful.measures import ENTROPY_WITHIN, ExclusivityParams, exclusivity, reachable
from heedful.probes import band, furthest
from heedful.saliency import text_site
from heedful.types import Batch, Model, Trace


@dataclass(frozen=True)
class Apart:
    """The furthest attention with the same output, on tokens, and where it is `within` ε."""

    weights: Float[Tensor, "b k"]
    within: Bool[Tensor, " b"]
    exact: bool


def exclusive(table: Table, model: Model, batch: Batch, trace: Trace, spec: AuditSpec) -> Apart:
    """Reported, never required. What is searched is a lower bound, and named so."""
    params = ExclusivityParams(spec.epsilon, spec.search_steps, seed=spec.seed)
    linear = text_site(model).linear and trace.logits.shape[-1] <= 2
    if linear:
        exact, apart = _exact(model, trace, spec.epsilon)
        table.add({**exact, "reachable": reachable(model, batch, trace)}, ATTENTION)
    else:
        found = exclusivity(model, batch, params, trace)
        reached = {"jsd_same_output": found.jsd, "jsd_same_output_ratio": found.ratio}
        table.add(reached, ATTENTION)
        apart = Apart(found.map, found.tvd <= spec.epsilon, exact=False)
    near = exclusivity(model, batch, replace(params, entropy_within=ENTROPY_WITHIN), trace)
    table.add({"jsd_entropy_matched": near.jsd}, ATTENTION)
    return apart


def _exact(model: Model, trace: Trace, epsilon: float) -> tuple[dict[str, Tensor], Apart]:
    """For one logit after a linear site, or the difference of two."""
    name = text_site(model).name
    z, bias = _one_logit(trace, name)
    weights = trace.weights[name][:, 0, 0].double()
    mask = trace.masks[name][:, 0, 0]
    logit = (weights * z).sum(-1) + bias
    low, high = band(torch.sigmoid(logit), bias, epsilon)
    found = furthest(z, mask, low, high, weights[:, None])
    best = found.value
    free = torch.full_like(low, torch.inf)
    most = furthest(z, mask, -free, free, weights[:, None]).value
    measures = {
        "jsd_same_output": best,
        "jsd_same_output_ratio": torch.where(most > 0, best / most, torch.nan),
    }
    return measures, Apart(found.weights, best.isfinite(), exact=True)


def _one_logit(trace: Trace, name: str) -> tuple[Tensor, Tensor]:
    known = trace.token_logits[name]
    values, bias = known.values.double(), known.bias.double()
    if values.shape[-1] == 1:
        return values[..., 0], bias[0]
    return values[..., 1] - values[..., 0], bias[1] - bias[0]
