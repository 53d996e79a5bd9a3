"""States that stay near their words (after tutek2020): ‖h_t − e_t‖², by token and dimension.

The paper adds up over dimensions; here it is their mean, since a pretrained model's states have
hundreds, and a weight should mean the same for a small and for a large one.
"""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.training.finetune_states import Layers, States, StateTerm


def tying(layers: Layers, site: str = "") -> StateTerm:
    def value(states: States) -> Tensor:
        there = states.mask.to(states.mixed.dtype)
        apart = (states.mixed - states.embedded).square().mean(-1)
        return ((apart * there).sum(-1) / there.sum(-1).clamp_min(1)).mean()

    return StateTerm(value, layers.number(site))


PIECE = Piece(
    name="tying",
    description="squared distance between a layer's states and the embeddings of their tokens",
    make=tying,
    paper="tutek2020",
    citation="Tutek & Šnajder 2020, Staying True to Your Word, RepL4NLP",
)
