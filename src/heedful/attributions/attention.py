"""Attention itself, as a reader sees it: the weights the prediction is read through.

A model of many layers and heads has many weights. Shown is one row: the last site that
attends to the text, the mean over its heads, at the queries the prediction is read from.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import SHARE, Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace
from heedful.words import word_numbers


def attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    head: int | None = None,
) -> Float[Tensor, "b t"]:
    """The weight on each token; that on tokens outside of the text is left out, so a row may
    sum to less than 1. Neither class nor target matters: attention is the same for all."""
    return on_text(_read_from(model, batch, layer, head), batch)


def mass_outside(
    model: Model, batch: Batch, layer: int = -1, head: int | None = None
) -> Float[Tensor, " b"]:
    """The share of attention on tokens of no word (start, end, separators), which no map over
    words can show; NaN where nothing is attended."""
    weights = _read_from(model, batch, layer, head)
    outside = weights.masked_fill(word_numbers(batch.texts["a"]) >= 0, 0.0)
    return outside.sum(-1) / weights.sum(-1)


def text_sites(model: Model) -> tuple[SiteSpec, ...]:
    """The sites that attend to the tokens of the text, first to last; `layer` counts these."""
    found = tuple(site for site in model.sites if site.keys == "a" and site.level == "tokens")
    if not found:
        raise HeedfulError("no site of this model attends to tokens of its text: give another.")
    return found


def text_site(model: Model, layer: int = -1) -> SiteSpec:
    """The attention over the text that a reader is shown: the last one, or that of another
    layer. In a hierarchy it is the one within sentences, and not the main site."""
    sites = text_sites(model)
    if not -len(sites) <= layer < len(sites):
        raise HeedfulError(f"there is no layer {layer}: choose one from 0 to {len(sites) - 1}.")
    return sites[layer]


def readout_weights(trace: Trace, site: SiteSpec) -> Float[Tensor, "b q"]:
    """How much each query of a site counts for the prediction, float64."""
    if site.name not in trace.readout_weights:
        raise HeedfulError(f"nothing is read directly from site {site.name!r}: choose a later one.")
    return trace.readout_weights[site.name].double()


def values_of(trace: Trace, site: SiteSpec) -> Float[Tensor, "b h k d"]:
    """What each head of a site mixes."""
    if site.name not in trace.values:
        raise HeedfulError(
            f"this model does not show the values that {site.name!r} mixes: leave this explanation "
            "out, or keep them in Trace.values."
        )
    return trace.values[site.name]


def readout_rows(
    weights: Float[Tensor, "b h q k"], readout: Float[Tensor, "b q"]
) -> Float[Tensor, "b h k"]:
    """Each head's row for the prediction, float64."""
    return torch.einsum("bq,bhqk->bhk", readout.double(), weights.double())


def one_map(rows: Float[Tensor, "b h k"], head: int | None = None) -> Float[Tensor, "b k"]:
    """The mean over heads, or one head."""
    if head is None:
        return rows.mean(1)
    if not -rows.shape[1] <= head < rows.shape[1]:
        raise HeedfulError(f"there is no head {head}: choose one from 0 to {rows.shape[1] - 1}.")
    return rows[:, head]


def on_text(scores: Float[Tensor, "b t"], batch: Batch) -> Float[Tensor, "b t"]:
    """Zero on all that is no token of the text."""
    return scores.masked_fill(~batch.texts["a"].mask, 0.0)


def _read_from(model: Model, batch: Batch, layer: int, head: int | None) -> Tensor:
    site = text_site(model, layer)
    with torch.no_grad():
        trace = model(batch, keep=Keep(readout_weights=True))
    return one_map(readout_rows(trace.weights[site.name], readout_weights(trace, site)), head)


ENTRY = Attribution(
    name="attention",
    description="the attention weights the prediction is read through, mean over heads",
    make=attention,
    uses=(),
    signed=False,
    paper="jain2019",
    formula="(1/H) Σ_h Σ_q r_q α_hqt: r_q is how much of the prediction is read from query q",
    range=SHARE,
    higher="the token has more of the weight the prediction is read through",
    cost="one forward pass",
    limits=(
        "A weight says how much of a state is mixed in: not what the state holds, nor whether "
        "the rest of the model reads it."
    ),
)
