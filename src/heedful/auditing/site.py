"""Which attention is on trial, in words: the claim is about this one and no other."""

from __future__ import annotations

import torch

from heedful.auditing.spec import ATTENTION
from heedful.saliency import reader, text_site, text_sites
from heedful.types import Batch, Keep, Model, SiteSpec, Trace

ALL = 0.99
"""The share of a prediction that is read from one query, to say so."""


def site_words(model: Model, batch: Batch) -> str:
    """Layer, heads and query, as far as there are several: `batch` is any text of the model's."""
    site, layers = text_site(model), len(text_sites(model))
    with torch.no_grad():
        trace = model(batch, keep=Keep(readers=True))
    heads = trace.weights[site.name].shape[1]
    layer = f" of layer {layers} of {layers}" if layers > 1 else ""
    how = [f"mean over {heads} heads"] if heads > 1 else []
    how += _query(trace, site)
    return f"{ATTENTION}{layer}" + (f" ({', '.join(how)})" if how else "")


def _query(trace: Trace, site: SiteSpec) -> list[str]:
    """Where the prediction is read from, where there is more than one place."""
    read = reader(trace, site)[0]
    if len(read) < 2 or not float(read.sum()) > 0:
        return []
    share = read / read.sum()
    there = trace.masks[site.name][0, 0].any(-1).nonzero().flatten().tolist()
    place = int(share.argmax())
    if float(share[place]) < ALL:
        return ["all tokens read"]
    named = {0: "read at the first token", there[-1] if there else -1: "read at the last token"}
    return [named.get(place, f"read at token {place + 1}")]
