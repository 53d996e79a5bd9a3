"""Sanity checks of maps: does a map look at the model, and only at the model?

A map that survives random parameters does not explain what was learned (Adebayo et al.
2018). One that moves when nothing but the origin of the inputs moves explains more than the
function (Kindermans et al. 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.measures.randomised import randomised
from heedful.measures.sanity_origin import OtherOrigin
from heedful.metrics import TOLERANCE, kendall_tau_b, tied_ranks
from heedful.randomness import example_keys, keyed_normal
from heedful.types import Batch, Model
from heedful.words import word_mask

__all__ = ["OtherOrigin", "WordMap", "moved_by_shift", "randomised", "tau_with_randomised"]

WordMap = Callable[[Model, Batch], Float[Tensor, "b w"]]
"""An explanation by words of side `a`, its class and parameters settled."""


def tau_with_randomised(
    model: Model, batch: Batch, maps: Mapping[str, WordMap], seed: int = 0
) -> dict[str, Float[Tensor, " b"]]:
    """τ-b over words between each map of the model and of the same with random parameters.

    Should be near 0; NaN where undefined: fewer than two words, or a constant map.
    """
    before = {name: make(model, batch) for name, make in maps.items()}
    with randomised(model, seed) as other:
        after = {name: make(other, batch) for name, make in maps.items()}
    return {name: _tau(before[name], after[name], batch) for name in maps}


def moved_by_shift(
    model: Model, batch: Batch, maps: Mapping[str, WordMap], scale: float = 0.5, seed: int = 0
) -> dict[str, Float[Tensor, " b"]]:
    """How far each map moves when one vector is added to all embeddings and taken off again
    inside the model: ‖moved − map‖₁ / ‖map‖₁. Should be 0; NaN where the map is all zeros.

    The vector is normal noise times `scale`: a layer norm would not see equal numbers.
    """
    if not scale:
        raise HeedfulError("the shift's scale is 0, which moves nothing: choose another number.")
    own = model.embed(batch)["a"]
    noise = keyed_normal(example_keys(seed, ("shift",), "origin"), (own.shape[-1],))[0]
    other = OtherOrigin(model, (scale * noise).to(own))
    return {name: _moved(make(model, batch), make(other, batch)) for name, make in maps.items()}


def _tau(one: Tensor, two: Tensor, batch: Batch) -> Tensor:
    there = word_mask(batch.texts["a"])
    x, y = (tied_ranks(each, there, TOLERANCE[torch.float32]) for each in (one, two))
    return kendall_tau_b(x, y, there).tau


def _moved(one: Tensor, two: Tensor) -> Tensor:
    distance, size = (two - one).double().abs().sum(-1), one.double().abs().sum(-1)
    return torch.where(size > 0, distance / size, torch.nan)
