"""α·‖v‖: a weight counts for as much as the vector it brings (Kobayashi et al. 2020).

They measure ‖α·v·W_O‖, after the output projection; here the projection is left out, since a
trace holds what a head mixes and not what becomes of it. Where W_O stretches directions
unequally the two differ.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, Piece
from heedful.models.output import probability
from heedful.saliency.attention import on_text, read, reader, text_site
from heedful.types import Batch, Keep, Model, Target


def value_norm(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
) -> Float[Tensor, "b t"]:
    """α·‖v‖ of each head, then the mean over heads. Neither class nor target matters."""
    site = text_site(model, layer)
    with torch.no_grad():
        trace = model(batch, keep=Keep(readers=True, values=True))
    rows = read(trace.weights[site.name], reader(trace, site))
    norms = trace.values[site.name].double().norm(dim=-1)
    return on_text((rows * norms).mean(1), batch)


PIECE = Piece(
    name="value_norm",
    description="attention times the norm of the values, without the output projection",
    make=value_norm,
    paper="Kobayashi et al. 2020",
    citation=(
        "Kobayashi et al. 2020, Attention is Not Only a Weight: Analyzing Transformers with "
        "Vector Norms, EMNLP"
    ),
    formula="(1/H) Σ_h α_ht ‖v_ht‖",
    range=NOT_NEGATIVE,
    higher="the weight brings a longer vector",
    cost="one forward pass",
    limits=(
        "The output projection is left out, so directions it shrinks count too much; long "
        "vectors may cancel each other."
    ),
)
