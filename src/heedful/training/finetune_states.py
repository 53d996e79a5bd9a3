"""What a term may look at while a pretrained model is fine-tuned: the states of one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import attach

LAST = -2
"""The last layer's among all hidden states: the one after it is what that layer made."""
_SHOWN = 4  # names of sites in an error


@dataclass(frozen=True)
class States:
    """`mixed` is what a layer's attention mixes (before the layer's own norm, where that comes
    first), `embedded` what the embedding layer gave, `mask` the tokens that are no padding."""

    mixed: Float[Tensor, "b t d"]
    embedded: Float[Tensor, "b t d"]
    mask: Bool[Tensor, "b t"]


@dataclass(frozen=True)
class StateTerm:
    """`value(states)` is one number, a mean over the batch's texts; `layer` says of which of
    the hidden states."""

    value: Callable[[States], Tensor]
    layer: int = LAST


@dataclass(frozen=True)
class Layers:
    """The layers of a model, by the names of their attention."""

    module: Any

    def number(self, site: str) -> int:
        """Which of the hidden states the attention at a site is given; the last layer's if no
        site is named."""
        if not site:
            return LAST
        if site not in self.sites:
            some = [*self.sites[:_SHOWN], *(["…"] if len(self.sites) > _SHOWN else [])]
            raise HeedfulError(f"there is no attention {site!r}: choose one of {', '.join(some)}.")
        return self.sites.index(site)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """One per layer, in their order."""
        with attach(self.module, {}) as model:
            return tuple(site.name for site in model.sites)


def states_of(hidden: Sequence[Tensor], layer: int, mask: Tensor) -> States:
    """In float32, whatever training is done in: distances of near states need the digits."""
    return States(hidden[layer].float(), hidden[0].float(), mask.to(torch.bool))
