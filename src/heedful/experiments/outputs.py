"""Outputs under other attention weights: the one way probes try weights on a model.

After a linear site the logits are weights · token logits + bias, so many weights cost one
product. After any other site the model is resumed once per draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.edits import custom
from heedful.experiments.evidence import Pass
from heedful.models import probabilities
from heedful.saliency import one_map, read, reader, text_site
from heedful.types import AttentionRows, Batch, Keep, Model, SiteSpec, Trace
from heedful.words import word_mask, word_numbers


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


# Sums over what is left when something is taken away, by addition alone.
#
# Total minus what has gone loses everything near the end: what is left there is a small
# difference of large numbers.


def remaining(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≥ i} x_j: what is left after the first i have gone."""
    return x.flip(1).cumsum(1).flip(1)


def others(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≠ i} x_j: what is left when only the i-th has gone."""
    nothing = torch.zeros_like(x[:, :1])
    before = torch.cat([nothing, x.cumsum(1)[:, :-1]], 1)
    after = torch.cat([remaining(x)[:, 1:], nothing], 1)
    return before + after


# Outputs under other attention: rows put in place of those the prediction is read from.
#
# After a linear site many rows cost one product with the tokens' logits; after any other the
# model is resumed once for each.


def base_trace(model: Model, batch: Batch, values: bool = False) -> Trace:
    """What every measure here goes on from."""
    linear = any(site.linear for site in model.sites)
    keep = Keep(states=True, readers=True, token_logits=linear, values=values)
    with torch.no_grad():
        return model(batch, keep=keep)


def read_map(trace: Trace, site: SiteSpec) -> Float[Tensor, "b k"]:
    """The map a reader sees: mean over heads of the reading rows, float64."""
    return one_map(read(trace.weights[site.name], reader(trace, site)))


def read_mask(trace: Trace, site: SiteSpec) -> Bool[Tensor, "b k"]:
    """The keys that some reading query may attend."""
    return (trace.masks[site.name] & reading(trace, site)).any(2).any(1)


def reading(trace: Trace, site: SiteSpec) -> Bool[Tensor, "b 1 q 1"]:
    """The queries the prediction is read from."""
    return (reader(trace, site) > 0)[:, None, :, None]


def rerun_site(
    model: Model, batch: Batch, trace: Trace, site: SiteSpec, weights: Float[Tensor, "b h q k"]
) -> Float[Tensor, "b c"]:
    """Class probabilities with these weights at the site; gradients flow to the weights."""
    return probabilities(resumed(model, batch, trace, site, weights).logits)


def resumed(
    model: Model, batch: Batch, trace: Trace, site: SiteSpec, weights: Float[Tensor, "b h q k"]
) -> Trace:
    """What the model leaves with these weights at the site. Where a query counts for the
    prediction by attention further on, it counts as that attention is now."""
    put = weights.to(trace.weights[site.name].dtype)
    after = model.resume(batch, trace, {site.name: custom(lambda _: put)})
    return replace(after, readers={**trace.readers, **after.readers})


def outputs_of(
    model: Model, batch: Batch, trace: Trace, tries: Iterable[Float[Tensor, "b h q k"]]
) -> Float[Tensor, "b m c"]:
    """Class probabilities under each of several weights of the main site."""
    site = text_site(model)
    with torch.no_grad():
        if not site.linear:
            return torch.stack([rerun_site(model, batch, trace, site, each) for each in tries], 1)
        return torch.stack([product(trace, site, each[:, 0, 0]) for each in tries], 1)


def product(trace: Trace, site: SiteSpec, weights: Float[Tensor, "b *m k"]) -> Tensor:
    """Class probabilities after a linear site, float64: weights times the tokens' logits."""
    known = trace.token_logits[site.name]
    logits = torch.einsum("b...k,bkc->b...c", weights.double(), known.values.double())
    return probabilities(logits + known.bias.double())


def original(trace: Trace, site: SiteSpec) -> Float[Tensor, "b c"]:
    """The output untouched, by the same arithmetic as the others: what is not moved must be
    at distance 0."""
    if site.linear:
        return product(trace, site, trace.weights[site.name][:, 0, 0])
    return probabilities(trace.logits)


def without_word(
    weights: Float[Tensor, "b h q k"],
    rows: Bool[Tensor, "b 1 q 1"],
    gone: Bool[Tensor, "b k"],
) -> Float[Tensor, "b h q k"]:
    """The reading rows less some keys, renormalised; a row that loses everything stays zero."""
    kept = weights.masked_fill(gone[:, None, None], 0.0)
    total = kept.sum(-1, keepdim=True)
    return torch.where(rows, kept / torch.where(total > 0, total, 1.0), weights)


def words_of(batch: Batch) -> tuple[Bool[Tensor, "b w"], Bool[Tensor, "b w t"]]:
    """Which words there are, and the tokens of each."""
    text = batch.texts["a"]
    there = word_mask(text)
    numbers = torch.arange(there.shape[1], device=there.device)
    return there, word_numbers(text)[:, None] == numbers[:, None]
