"""Gradient × attention: how the explained quantity answers to each weight (serrano2019).

The weights are taken as free numbers: renormalisation is ignored, as in the paper.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.attention import on_text, readout_weights, text_site
from heedful.entries import ANY, Attribution
from heedful.interventions import custom
from heedful.models import probability
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace


def gradient_attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    magnitude: bool = False,
) -> Float[Tensor, "b t"]:
    """α·∂f/∂α, summed over heads and over the queries the prediction is read from (each
    query's share in the prediction is already in its slope); signed unless told otherwise."""
    site = text_site(model, layer)
    with torch.no_grad():
        trace = model(batch, keep=Keep(states=True, readout_weights=True))
    slopes = _slopes(model, batch, trace, site, target, label)
    products = trace.weights[site.name].double() * slopes.double()
    rows = (readout_weights(trace, site) > 0).double()
    scores = on_text(torch.einsum("bq,bhqk->bk", rows, products), batch)
    return scores.abs() if magnitude else scores


def _slopes(
    model: Model, batch: Batch, trace: Trace, site: SiteSpec, target: Target, label: Tensor
) -> Tensor:
    """∂f/∂α by putting the weights back as free numbers."""
    free = trace.weights[site.name].detach().clone().requires_grad_()
    with torch.enable_grad():
        logits = model.resume(batch, trace, {site.name: custom(lambda call: free)}).logits
        (slopes,) = torch.autograd.grad(target(logits, label).sum(), free)
    return slopes


ENTRY = Attribution(
    name="gradient_attention",
    description="attention times the derivative of the output by it, summed over heads",
    make=gradient_attention,
    uses=(),
    paper="serrano2019",
    signed=True,
    formula="Σ_h Σ_q α_hqt · ∂f/∂α_hqt over the queries the prediction is read from",
    range=ANY,
    higher="more weight there would raise the explained number more",
    cost="one forward and one backward pass of what follows attention",
    limits=(
        "Weights are taken as free numbers that need not sum to 1. A slope speaks of small changes."
    ),
)
