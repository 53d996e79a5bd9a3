"""Diversity of a layer's states (after mohankumar2020): the loss grows with their conicity."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.metrics import conicity
from heedful.training.finetune_states import Layers, States, StateTerm


def diversity(layers: Layers, site: str = "") -> StateTerm:
    def value(states: States) -> Tensor:
        return conicity(states.mixed, states.mask).mean()

    return StateTerm(value, layers.number(site))


PIECE = Piece(
    name="diversity",
    description="conicity of the states that the attention of a layer mixes",
    make=diversity,
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)
