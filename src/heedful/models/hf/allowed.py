"""Where attention may look."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.models.hf.sides import Side


@dataclass(frozen=True)
class Allowed:
    """Where a site may look, in a trace's coordinates; which of the module's query rows see
    nothing at all (None: every row sees something); and what the module should add to its
    scores: a row that sees nothing sees everything for the length of a softmax, as one over
    nothing may be no number, and then loses its weights. `starved`: one of these rows is not
    padding's."""

    mask: Bool[Tensor, "b h q k"]
    blind: Bool[Tensor, "b h q 1"] | None
    added: Tensor | None
    starved: bool = False

    def hush(self, weights: Float[Tensor, "b h q k"]) -> Float[Tensor, "b h q k"]:
        """No weights in rows that see nothing."""
        if self.blind is None:
            return weights
        if weights.requires_grad:
            return weights.masked_fill(self.blind, 0.0)
        return weights.masked_fill_(self.blind, 0.0)


def allowed_by(mask: Tensor | None, queries: Side, keys: Side) -> Allowed:
    """From what a module adds to its scores. Padding asks nothing: its rows are empty, as
    nobody reads them."""
    rows = queries.turn(queries.real, 1)[:, None, :, None]
    if mask is None:
        inner = rows & keys.turn(keys.seen, 1)[:, None, None, :]
    else:
        inner = rows & (mask > torch.finfo(mask.dtype).min / 2)
    blind = ~inner.any(-1, keepdim=True)
    turned = keys.turn_back(queries.turn_back(inner, 2), 3)
    if not bool(blind.any()):
        return Allowed(turned, None, mask)
    added = None if mask is None else mask.masked_fill(blind, 0.0)
    return Allowed(turned, blind, added, bool((blind & rows).any()))
