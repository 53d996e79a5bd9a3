"""How scores become weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.models.masked_given import masked_given
from heedful.models.masked_sigmoid import masked_sigmoid
from heedful.models.masked_softmax import masked_softmax
from heedful.models.masked_sparse import masked_entmax, masked_sparsemax


@dataclass(frozen=True)
class Weighting:
    """`weights(scores, mask)` are exactly 0 where the mask is False. `normalised` ones sum to 1.

    `power` is what a token brings by its own score alone (0 for −∞), from which weights follow
    by at most a division by the row's sum; so texts that differ in few tokens can share sums.
    Sparse weights have none: their threshold depends on the whole row.
    """

    weights: Callable[[Tensor, Tensor], Tensor]
    power: Callable[[Tensor], Tensor] | None = None
    normalised: bool = True


def _open(gates: Tensor) -> Tensor:
    return gates.clamp_min(0.0)


SOFTMAX = Weighting(masked_softmax, torch.exp)
SPARSEMAX = Weighting(masked_sparsemax)
ENTMAX = Weighting(masked_entmax)
SIGMOID = Weighting(masked_sigmoid, torch.sigmoid, normalised=False)
GIVEN = Weighting(masked_given, _open, normalised=False)
