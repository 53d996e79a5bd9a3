"""Can attention change the decision at all?

Exact for linear sites: every attention gives logits in the convex hull of the tokens' own, so
a decision each token makes alone is one that no attention changes. For other sites all the
attention is put on one word after another, which may miss a way: a lower bound.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.measures.replaced import (
    base_trace,
    original,
    outputs,
    reading,
    without_word,
    words_of,
)
from heedful.models import class_logits
from heedful.saliency import text_site
from heedful.types import Batch, Model, SiteSpec, Trace


def reachable(model: Model, batch: Batch, trace: Trace | None = None) -> Float[Tensor, " b"]:
    """1 where some attention of the main site changes the decision, else 0."""
    trace = trace or base_trace(model, batch)
    site = text_site(model)
    flips = _alone(trace, site) if site.linear else _by_word(model, batch, trace, site)
    return flips.any(-1).double()


def _alone(trace: Trace, site: SiteSpec) -> Tensor:
    known = trace.token_logits[site.name]
    decision = class_logits(known.values.double() + known.bias.double()).argmax(-1)
    mask = trace.masks[site.name][:, 0, 0]
    return (decision != original(trace, site).argmax(-1)[:, None]) & mask


def _by_word(model: Model, batch: Batch, trace: Trace, site: SiteSpec) -> Tensor:
    there, tokens = words_of(batch)
    weights, rows = trace.weights[site.name].double(), reading(trace, site)
    with torch.no_grad():
        tries = (without_word(weights, rows, ~kept) for kept in tokens.unbind(1))
        after = outputs(model, batch, trace, tries).argmax(-1)
    return (after != original(trace, site).argmax(-1)[:, None]) & there
