"""Which query rows of a site the prediction is read from: computed, not assumed.

The last site's output is differentiated: rows without a gradient are read by nobody. BERT's
classifier turns out to read the first token, GPT-2's the last, a mean all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.models.hf.record import Site
from heedful.models.hf.sides import Side


def readers(
    logits: Tensor, output: Tensor, sites: Sequence[Site], sides: Mapping[str, Side]
) -> dict[str, Float[Tensor, "b q"]]:
    """By site. Sites whose queries are on the last site's side share its rows; an encoder
    whose states are read by a decoder is read everywhere."""
    side = sites[-1].queries
    shares = {name: _even(each) for name, each in sides.items()}
    shares[side] = _shares(_norms(logits, output, sides[side]), shares[side])
    return {site.spec.name: shares[site.queries].to(output.dtype) for site in sites}


def _norms(logits: Tensor, output: Tensor, side: Side) -> Tensor:
    # unlike factors: in the plain sum two opposite classes would cancel
    factors = torch.linspace(1, 2, logits.shape[-1], device=logits.device, dtype=logits.dtype)
    total = (logits * factors).sum()
    (slopes,) = torch.autograd.grad(total, output, retain_graph=True)
    return side.turn_back(slopes.double().flatten(2).norm(dim=-1), 1) * side.real


def _shares(norms: Tensor, even: Tensor) -> Tensor:
    total = norms.sum(-1, keepdim=True)
    return torch.where(total > 0, norms / torch.where(total > 0, total, 1.0), even)


def _even(side: Side) -> Tensor:
    return side.real.double() / side.real.sum(-1, keepdim=True).clamp_min(1)
