"""Attention rollout (Abnar & Zuidema 2020): attention followed back to the input.

What a position of layer l sees of the text is ½ (the mean over heads) + ½ (itself, through
the residual), times what those positions saw one layer below.
"""

from __future__ import annotations

from itertools import takewhile

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.attention import (
    on_text,
    one_map,
    readout_rows,
    readout_weights,
    text_sites,
)
from heedful.entries import SHARE, Attribution
from heedful.models import probability
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace


def rollout(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """The reader's row of the product over layers. Where the last site is no self-attention
    (one query, or a decoder's cross-attention), its own row is followed back instead; so a
    model of one such site gives its attention. Neither class nor target matters."""
    *_, last = sites = text_sites(model)
    with torch.no_grad():
        trace = model(batch, keep=Keep(readout_weights=True))
    readout = readout_weights(trace, last)
    within = self_sites(model, trace)
    row = readout if last in within else one_map(readout_rows(trace.weights[last.name], readout))
    for site in reversed(sites):
        if site in within:
            mean = trace.weights[site.name].double().mean(1)
            row = 0.5 * (torch.einsum("bq,bqk->bk", row, mean) + row)
    return on_text(row, batch)


def self_sites(model: Model, trace: Trace) -> tuple[SiteSpec, ...]:
    """The sites in which the text attends to itself: as many queries as keys.

    In an encoder-decoder they come before the decoder's own (whose keys are another side);
    what attends to the text after those is cross-attention, of whatever shape."""
    first = takewhile(lambda site: site.keys == "a", model.sites)
    shapes = {name: weights.shape[-2:] for name, weights in trace.weights.items()}
    return tuple(s for s in first if s.level == "tokens" and len(set(shapes[s.name])) == 1)


ENTRY = Attribution(
    name="rollout",
    description="attention followed back through all layers, half of each being the residual",
    make=rollout,
    uses=(),
    signed=False,
    paper="Abnar & Zuidema 2020",
    citation="Abnar & Zuidema 2020, Quantifying Attention Flow in Transformers, ACL",
    formula="r · Π_l ½ (A_l + I), from the last layer to the first; A_l is the mean over heads",
    range=SHARE,
    higher="more paths of attention lead to the token",
    cost="one forward pass, and a product for each layer",
    limits=(
        "The residual is taken for half of everything, and what happens between attentions for "
        "nothing."
    ),
)
