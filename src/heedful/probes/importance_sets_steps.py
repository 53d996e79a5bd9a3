"""The first step of an order of removal at which the decision flips."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.models import class_logits
from heedful.probes.evidence import Pass
from heedful.probes.outputs import renormalised, rerun
from heedful.probes.suffix_sums import remaining
from heedful.types import AttentionRows, SiteSpec


def first_flip(
    each: Pass, site: SiteSpec, view: AttentionRows, order: Int[Tensor, "n k"], most_steps: int
) -> Int[Tensor, " n"]:
    """How many items are gone then; 0 where no tried proper subset flips the decision."""
    if site.linear:
        return _at_once(each, site, view, order)
    with torch.no_grad():
        return _step_by_step(each, site, view, order, most_steps)


def _at_once(each: Pass, site: SiteSpec, view: AttentionRows, order: Tensor) -> Tensor:
    """Column s is what is left after s steps; past the last item no weight is left."""
    known = each.trace.token_logits[site.name]
    values, bias = known.values.double()[view.example], known.bias.double()
    weights = view.weights.double().gather(1, order)
    values = values.gather(1, order[..., None].expand_as(values))
    left, mixed = remaining(weights), remaining(weights[..., None] * values)
    logits = mixed / torch.where(left > 0, left, 1.0)[..., None] + bias
    decision = class_logits(logits).argmax(-1)
    flipped = (decision != decision[:, :1]) & (left > 0)
    return flipped.long().argmax(-1)


def _step_by_step(
    each: Pass, site: SiteSpec, view: AttentionRows, order: Tensor, most_steps: int
) -> Tensor:
    """All rows of an example lose their own first items together."""
    weights, items = view.weights.double(), view.mask.sum(-1)
    place = order.argsort(-1)
    before = rerun(each, site, view, weights).argmax(-1)
    count = torch.zeros_like(items)
    for step in range(1, min(most_steps, int(items.max()) - 1) + 1):
        kept = weights.masked_fill(place < step, 0.0)
        after = rerun(each, site, view, renormalised(kept)).argmax(-1)
        new = (after != before) & (count == 0) & (kept.sum(-1) > 0)
        count = torch.where(new, step, count)
        if bool(((count > 0) | (items <= step + 1)).all()):
            break
    return count
