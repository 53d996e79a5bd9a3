"""LRP's rules as factors on gradients.

With every non-linear factor held constant a network is linear in its input, and input ×
gradient of that network is LRP: a sum hands relevance down by shares, a gate hands all of
it to the signal. What is left of the ε-rule is a factor on the gradient of each sum.
"""

from __future__ import annotations

from functools import partial

from jaxtyping import Float
from torch import Tensor


def stable(total: Float[Tensor, "*n"], epsilon: float) -> Float[Tensor, "*n"]:
    """A sum under the ε-rule: the relevance handed on is z / (z + ε·sign z) of what came."""
    if epsilon and total.requires_grad:
        size = total.detach().abs()
        factor = size / (size + epsilon)
        total.register_hook(partial(_scaled, factor))  # type: ignore[no-untyped-call]
    return total


def passing(x: Float[Tensor, "*n"], y: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """`y`, the squashed `x`, as x times a constant: it hands on all that comes.

    Where x is zero no relevance arrives and none is handed on.
    """
    value = x.detach()
    factor = y.detach() / value
    return x * factor.masked_fill(value == 0, 0)


def _scaled(factor: Tensor, slope: Tensor) -> Tensor:
    return factor * slope
