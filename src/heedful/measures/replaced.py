"""Outputs under other attention: rows put in place of those the prediction is read from.

After a linear site many rows cost one product with the tokens' logits; after any other the
model is resumed once for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.edits import custom
from heedful.models import probabilities
from heedful.saliency import one_map, read, reader, text_site
from heedful.types import Batch, Keep, Model, SiteSpec, Trace
from heedful.words import word_mask, word_numbers


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


def rerun(
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


def outputs(
    model: Model, batch: Batch, trace: Trace, tries: Iterable[Float[Tensor, "b h q k"]]
) -> Float[Tensor, "b m c"]:
    """Class probabilities under each of several weights of the main site."""
    site = text_site(model)
    with torch.no_grad():
        if not site.linear:
            return torch.stack([rerun(model, batch, trace, site, each) for each in tries], 1)
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
