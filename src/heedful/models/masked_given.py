"""Gates that are weights already; positions that may not be attended get exactly zero."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor


def masked_given(gates: Float[Tensor, "*n k"], mask: Bool[Tensor, "*n k"]) -> Float[Tensor, "*n k"]:
    return gates.masked_fill(~mask, 0.0)
