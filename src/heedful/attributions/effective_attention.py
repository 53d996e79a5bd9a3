"""Effective attention (Brunner et al. 2020): the part of the weights the output can feel.

A head gives α·V. Whatever of α lies in the left null space of V vanishes in that product and
is taken away, which leaves α·V·V⁺. A text of at most as many tokens as a head has dimensions
has (unless values repeat) no such space: nothing changes there.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions.attention import (
    on_text,
    one_map,
    readout_rows,
    readout_weights,
    text_site,
    values_of,
)
from heedful.entries import ANY, Attribution
from heedful.models import probability
from heedful.types import Batch, Keep, Model, Target


def effective_attention(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    layer: int = -1,
    head: int | None = None,
) -> Float[Tensor, "b t"]:
    """Mean over heads; may be negative, and need not sum to 1. The values are those of all keys
    that any reading query may attend. Neither class nor target matters."""
    site = text_site(model, layer)
    with torch.no_grad():
        trace = model(batch, keep=Keep(readout_weights=True, values=True))
    readout = readout_weights(trace, site)
    seen = seen_keys(trace.masks[site.name], readout)
    rows, values = readout_rows(trace.weights[site.name], readout), values_of(trace, site)
    return on_text(one_map(felt(rows, values, seen), head), batch)


def felt(
    rows: Float[Tensor, "b h k"], values: Float[Tensor, "b h k d"], seen: Bool[Tensor, "b g k"]
) -> Float[Tensor, "b h k"]:
    """The rows projected onto the column space of the seen values, float64.

    Singular values below the precision the values were computed in count as zero. For values
    of full row rank the projection is the identity, and the rows are given back as they are."""
    shown = values.double() * seen[..., None]
    left, sizes, _ = torch.linalg.svd(shown, full_matrices=False)
    keys = seen.sum(-1).expand(rows.shape[:2])
    real = sizes > _tolerance(values, keys)[..., None] * sizes[..., :1]
    basis = left * real[..., None, :]
    projected = torch.einsum("bhkr,bhr->bhk", basis, torch.einsum("bhk,bhkr->bhr", rows, basis))
    return torch.where((real.sum(-1) == keys)[..., None], rows, projected * seen)


def seen_keys(
    mask: Bool[Tensor, "b g r k"], readout: Float[Tensor, "b q"]
) -> Bool[Tensor, "b g k"]:
    """The keys that some reading query may attend; a mask may be shared by heads or queries."""
    rows = (readout > 0)[:, None, :, None]
    return (mask & rows).any(2)


def _tolerance(values: Tensor, keys: Tensor) -> Tensor:
    """numpy's for a rank, by the seen keys only: padding must not change a rank."""
    return keys.clamp_min(values.shape[-1]).double() * torch.finfo(values.dtype).eps


ENTRY = Attribution(
    name="effective_attention",
    description="attention less what its values cancel; unchanged for short texts",
    make=effective_attention,
    uses=(),
    signed=False,
    paper="Brunner et al. 2020",
    citation="Brunner et al. 2020, On Identifiability in Transformers, ICLR",
    formula=(
        "(1/H) Σ_h α_h V_h V_h⁺: what of the weights does not vanish in the product with the values"
    ),
    range=ANY,
    higher="more of the weight on the token reaches the output",
    cost="one forward pass, and a singular value decomposition for each head",
    limits=(
        "The same as attention for texts that have no more tokens than a head has dimensions; "
        "it may be negative, and the sign says nothing about a class."
    ),
)
