"""What each head of each layer does, from its weights alone: cheap enough to look at all."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.metrics import entropy
from heedful.saliency import read, self_sites, text_sites
from heedful.types import Batch, Keep, Model, SiteSpec, Text, Trace
from heedful.words import word_numbers

STATISTICS = {
    "entropy": "entropy of a query's weights (nats), mean over queries",
    "special": "weight on tokens of no word, mean over queries",
    "first": "weight on the first token that can be attended, mean over queries",
    "self": "weight of a position on itself, mean over queries; self-attention only",
    "previous": "weight on the position before, mean over queries that have one",
    "next": "weight on the position after, mean over queries that have one",
    "reader_max": "largest weight of the row the prediction is read from",
}


def head_statistics(model: Model, batches: Iterable[Batch]) -> pd.DataFrame:
    """One row per example, layer, head and statistic. `layer` counts the sites that attend to
    the text, as the explanation `attention` does. NaN where a statistic has no meaning."""
    parts = []
    for batch in batches:
        with torch.no_grad():
            trace = model(batch, keep=Keep(readers=True))
        within = self_sites(model, trace)
        for layer, site in enumerate(text_sites(model)):
            found = _statistics(trace, site, batch.texts["a"], site in within)
            parts.append(_frame(batch, layer, site, found))
    return pd.concat(parts, ignore_index=True)


def _statistics(
    trace: Trace, site: SiteSpec, text: Text, within: bool
) -> dict[str, Float[Tensor, "b h"]]:
    weights = trace.weights[site.name].double()
    queries = _queries(trace, site, text, within)
    special = word_numbers(text) < 0
    first = trace.masks[site.name].any(2).any(1).long().argmax(-1)
    shares = {
        "entropy": entropy(weights),
        "special": (weights * special[:, None, None]).sum(-1),
        "first": weights.gather(-1, first[:, None, None, None].expand(*weights.shape[:3], 1))[
            ..., 0
        ],
    }
    found = {name: _mean(share, queries) for name, share in shares.items()}
    nothing = torch.full(weights.shape[:2], torch.nan, dtype=torch.float64, device=weights.device)
    near = _neighbours(weights, queries) if within else dict.fromkeys(_OFFSETS, nothing)
    known = site.name in trace.readers
    top = read(weights, trace.readers[site.name]).amax(-1) if known else nothing
    return found | near | {"reader_max": top}


_OFFSETS = {"self": 0, "previous": -1, "next": 1}


def _queries(trace: Trace, site: SiteSpec, text: Text, within: bool) -> Bool[Tensor, "b q"]:
    """The queries that count: in self-attention every token, elsewhere those that are read."""
    if within or site.name not in trace.readers:
        place = torch.arange(trace.weights[site.name].shape[2], device=text.lengths.device)
        return place < text.lengths[:, None]
    return trace.readers[site.name] > 0


def _neighbours(
    weights: Float[Tensor, "b h q k"], queries: Bool[Tensor, "b q"]
) -> dict[str, Float[Tensor, "b h"]]:
    found = {}
    for name, offset in _OFFSETS.items():
        near = weights.diagonal(offset, -2, -1)
        start = max(0, -offset)
        both = queries[:, start : start + near.shape[-1]]
        if offset > 0:  # the last token has no next one
            both = both & queries[:, offset:]
        found[name] = _mean(near, both)
    return found


def _mean(shares: Float[Tensor, "b h q"], queries: Bool[Tensor, "b q"]) -> Float[Tensor, "b h"]:
    """NaN where there is no query."""
    chosen = shares.masked_fill(~queries[:, None], 0.0)
    return chosen.sum(-1) / queries.sum(-1).double()[:, None]


def _frame(batch: Batch, layer: int, site: SiteSpec, found: dict[str, Tensor]) -> pd.DataFrame:
    parts = []
    for statistic, values in found.items():
        index = pd.MultiIndex.from_product([batch.ids, range(values.shape[1])])
        frame = pd.DataFrame(index.to_list(), columns=["example", "head"])
        parts.append(frame.assign(statistic=statistic, value=values.flatten().cpu().numpy()))
    columns = ["example", "layer", "head", "site", "statistic", "value"]
    return pd.concat(parts, ignore_index=True).assign(layer=layer, site=site.name)[columns]
