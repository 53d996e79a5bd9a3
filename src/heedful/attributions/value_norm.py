"""The norm of what attention brings from each token (Kobayashi et al. 2020).

A weight says how much of a vector is mixed in, not how long the vector is. The heads' vectors go
through the output projection and are summed before the norm is taken: they may cancel.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.attention import on_text, readout_weights, text_site, values_of
from heedful.entries import NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace


def value_norm(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
) -> Float[Tensor, "b t"]:
    """‖Σ_h α_h f_h(x)‖ at each query the prediction is read from, weighted by how much is read
    there. f is the value after the output projection; at a site of one head that has none, the
    value itself, so it is α‖v‖. Neither class nor target matters."""
    site = text_site(model, layer)
    with torch.no_grad():
        trace = model(batch, keep=Keep(readout_weights=True, values=True))
    weights, readout = trace.weights[site.name].double(), readout_weights(trace, site)
    values, projection = values_of(trace, site).double(), _projection(trace, site)
    scores = [
        summed_norm(weights[row][:, read > 0], values[row], projection, read[read > 0])
        for row, read in enumerate(readout)
    ]
    return (
        on_text(torch.stack(scores), batch) if scores else readout.new_zeros(0, weights.shape[-1])
    )


def summed_norm(
    weights: Float[Tensor, "h q k"],
    values: Float[Tensor, "h k d"],
    projection: Float[Tensor, "h d e"] | None,
    readout: Float[Tensor, " q"],
) -> Float[Tensor, " k"]:
    """Of one text. The squared norm of a sum over heads is the sum over pairs of heads of their
    products, which need not be made again for each query."""
    vectors = values if projection is None else values @ projection
    products = torch.einsum("hke,gke->khg", vectors, vectors)
    squares = (torch.einsum("hqk,khg->gqk", weights, products) * weights).sum(0)
    return readout @ squares.clamp_min(0).sqrt()


def _projection(trace: Trace, site: SiteSpec) -> Tensor | None:
    found = trace.projections.get(site.name)
    if found is None and (site.name in trace.projections or trace.weights[site.name].shape[1] > 1):
        raise HeedfulError(
            f"value_norm needs the output projection of {site.name!r}, which this model does not "
            "show: leave value_norm out."
        )
    return None if found is None else found.double()


ENTRY = Attribution(
    name="value_norm",
    description="norm of what attention brings from a token, heads projected and summed",
    make=value_norm,
    uses=(),
    signed=False,
    version=2,
    paper="Kobayashi et al. 2020",
    citation=(
        "Kobayashi et al. 2020, Attention is Not Only a Weight: Analyzing Transformers with "
        "Vector Norms, EMNLP"
    ),
    formula="Σ_q r_q ‖Σ_h α_hqt v_ht W_h‖₂: W_h is the output projection's part for head h",
    range=NOT_NEGATIVE,
    higher="attention brings a longer vector from the token",
    cost="one forward pass",
    limits=(
        "A long vector need not matter: what follows may ignore its direction, and the residual "
        "beside attention is left out."
    ),
)
