"""The orders in which items are removed, each from the most important on.

∂p/∂α is that of the predicted class's probability, signed. The published product with α
leaves out that the rest is renormalised; α_i (∂_i − Σ_j α_j ∂_j) is the first-order fall of
the probability when item i is erased and the rest renormalised, but for the factor
1/(1 − α_i): for two classes ∂ is ±p(1 − p) z, and this is the centred α_i (z_i − Σ α z).
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.metrics import TOLERANCE, tied_ranks
from heedful.models import class_logits, probabilities
from heedful.probes.evidence import Pass
from heedful.probes.outputs import linear_logits, rerun
from heedful.probes.permutation import row_keys
from heedful.randomness import keyed_uniform
from heedful.types import AttentionRows, SiteSpec

RANKINGS = {
    "attention": "attention descending",
    "gradient": "∂p/∂α descending",
    "gradient_attention": "∂p/∂α · α descending",
    "centred": "α (∂p/∂α − Σ α ∂p/∂α) descending",
    "random": "random order",
    "ascending": "attention ascending",
}


def rankings(
    each: Pass, site: SiteSpec, view: AttentionRows, seed: int
) -> dict[str, Int[Tensor, "n k"]]:
    """Positions in the order of their removal, masked ones last. Where scores tie but for
    rounding, the earlier position goes first."""
    weights = view.weights.double()
    slope = slopes(each, site, view)
    mean = (weights * slope).sum(-1, keepdim=True)
    keys = row_keys(each, site, view, seed, "importance_sets")
    tolerance = TOLERANCE[view.weights.dtype]
    attention = tied_ranks(weights, view.mask, tolerance, own_scale=True)
    top = int(attention.max()) + 1
    ranks = {
        "attention": attention,
        "gradient": tied_ranks(slope, view.mask, tolerance),
        "gradient_attention": tied_ranks(slope * weights, view.mask, tolerance),
        "centred": tied_ranks(weights * (slope - mean), view.mask, tolerance),
        "random": tied_ranks(keyed_uniform(keys, (weights.shape[1],)), view.mask, 0.0),
        "ascending": (top - attention).masked_fill(~view.mask, -1),
    }
    return {
        name: rank.argsort(dim=-1, descending=True, stable=True) for name, rank in ranks.items()
    }


def slopes(each: Pass, site: SiteSpec, view: AttentionRows) -> Float[Tensor, "n k"]:
    """∂p/∂α of the predicted class: in closed form, or through the model. Where an example
    has several rows, its output depends on all of them, and each gets its own part."""
    return _closed(each, site, view) if site.linear else _derived(each, site, view)


def _closed(each: Pass, site: SiteSpec, view: AttentionRows) -> Tensor:
    """p_c (z_{i,c} − Σ_k p_k z_{i,k})."""
    z = class_logits(each.trace.token_logits[site.name].values)[view.example]
    p = probabilities(linear_logits(each, site, view, view.weights[:, None].double())[:, 0])
    top, predicted = p.max(-1, keepdim=True)
    own = z.gather(2, predicted[:, None].expand(-1, z.shape[1], 1)).squeeze(2)
    return top * (own - torch.einsum("nkc,nc->nk", z, p))


def _derived(each: Pass, site: SiteSpec, view: AttentionRows) -> Tensor:
    with torch.enable_grad():
        weights = view.weights.detach().double().requires_grad_()
        p = rerun(each, site, view, weights).amax(-1)
        rows = torch.bincount(view.example)[view.example]  # the same p, once for each of them
        (slope,) = torch.autograd.grad((p / rows).sum(), weights)
    return slope
