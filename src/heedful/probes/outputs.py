"""Outputs under other attention weights: the one way probes try weights on a model.

After a linear site the logits are weights · token logits + bias, so many weights cost one
product. After any other site the model is resumed once per draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.edits import custom
from heedful.models import probabilities
from heedful.probes.evidence import Pass
from heedful.types import AttentionRows, SiteSpec


def outputs(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n m k"]
) -> Float[Tensor, "n m c"]:
    """Class probabilities when each row of attention is replaced by each of its m draws."""
    if site.linear:
        return probabilities(linear_logits(each, site, view, weights))
    draws = [rerun(each, site, view, draw) for draw in weights.unbind(1)]
    return torch.stack(draws, 1)


def repeatedly(
    each: Pass, site: SiteSpec, view: AttentionRows
) -> Callable[[Float[Tensor, "n m k"]], Float[Tensor, "n m c"]]:
    """The same, to be asked hundreds of times: token logits are looked up once."""
    if not site.linear:
        return partial(outputs, each, site, view)
    values, bias = _linear(each, site, view, torch.float64)
    return lambda weights: probabilities(weights @ values + bias)


def reduced(
    each: Pass,
    site: SiteSpec,
    view: AttentionRows,
    weights: Float[Tensor, "n m k"],
    reduce: Callable[[Tensor], Tensor],
) -> Float[Tensor, "n m *r"]:
    """What `reduce` makes of the outputs. Where the model is resumed, it is called draw by
    draw: with a vocabulary for classes, the outputs of all draws would fill the memory."""
    if site.linear:
        return reduce(outputs(each, site, view, weights))
    draws = (rerun(each, site, view, draw)[:, None] for draw in weights.unbind(1))
    return torch.cat([reduce(p) for p in draws], 1)


def renormalised(weights: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """To a sum of 1; a row of nothing stays so, and leaves a zero context."""
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


def linear_logits(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n m k"]
) -> Float[Tensor, "n m c"]:
    values, bias = _linear(each, site, view, weights.dtype)
    return weights @ values + bias


def rerun(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n k"]
) -> Float[Tensor, "n c"]:
    """Class probabilities from the model itself, resumed with these weights in place. All
    rows of an example (its heads) change together; what is not in the view stays."""
    full = each.trace.weights[site.name]
    full = full.index_put((view.example, view.head, view.query), weights.to(full.dtype))
    edits = {site.name: custom(lambda call: call.queries(full))}
    logits = each.model.resume(each.batch, each.trace, edits).logits
    return probabilities(logits)[view.example]


def _linear(
    each: Pass, site: SiteSpec, view: AttentionRows, dtype: torch.dtype
) -> tuple[Float[Tensor, "n k c"], Float[Tensor, " c"]]:
    """The token logits of each row, and the bias."""
    token_logits = each.trace.token_logits[site.name]
    return token_logits.values[view.example].to(dtype), token_logits.bias.to(dtype)
