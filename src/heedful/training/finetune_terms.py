"""The loss of a pretrained classifier: the labels' own, and terms about a layer's states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from heedful.entries import LossTerm
from heedful.errors import HeedfulError
from heedful.metrics import conicity
from heedful.models import attach
from heedful.registry import Registry
from heedful.specs import TermSpec

STATE_TERMS = Registry(
    "pretrained-term",
    LossTerm,
    {name: f"{__name__}:{name.upper()}" for name in ("diversity", "tying")},
)
"""Terms that look at states only: `make(layers, site="") -> StateTerm`. Without a site they are
about the last layer."""
LAST = -2
"""The last layer's among all hidden states: the one after it is what that layer made."""
_SHOWN = 4  # names of sites in an error


GOAL = "goal"


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


def diversity(layers: Layers, site: str = "") -> StateTerm:
    """Diversity of a layer's states (after mohankumar2020): the loss grows with their conicity."""

    def value(states: States) -> Tensor:
        return conicity(states.mixed, states.mask).mean()

    return StateTerm(value, layers.number(site))


DIVERSITY = LossTerm(
    name="diversity",
    description="conicity of the states that the attention of a layer mixes",
    make=diversity,
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)


def tying(layers: Layers, site: str = "") -> StateTerm:
    """States that stay near their words (after tutek2020): ‖h_t − e_t‖², by token and dimension.

    The paper adds up over dimensions; here it is their mean, since a pretrained model's states have
    hundreds, and a weight should mean the same for a small and for a large one.
    """

    def value(states: States) -> Tensor:
        there = states.mask.to(states.mixed.dtype)
        apart = (states.mixed - states.embedded).square().mean(-1)
        return ((apart * there).sum(-1) / there.sum(-1).clamp_min(1)).mean()

    return StateTerm(value, layers.number(site))


TYING = LossTerm(
    name="tying",
    description="squared distance between a layer's states and the embeddings of their tokens",
    make=tying,
    paper="tutek2020",
    citation="Tutek & Šnajder 2020, Staying True to Your Word, RepL4NLP",
)


@dataclass(frozen=True)
class FinetuneLoss:
    """The parts of a batch's loss, by name; the loss is their sum."""

    model: Any
    terms: tuple[tuple[TermSpec, StateTerm], ...] = ()

    def __call__(self, inputs: Mapping[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
        output = self.model(**inputs, **self._asked)
        parts = {GOAL: F.cross_entropy(output.logits.float(), labels)}
        for spec, term in self.terms:
            states = states_of(output.hidden_states, term.layer, inputs["attention_mask"])
            parts[spec.title] = parts.get(spec.title, 0.0) + spec.weight * term.value(states)
        return parts

    @property
    def _asked(self) -> dict[str, bool]:
        """States are kept only where somebody looks at them."""
        return {"output_hidden_states": True} if self.terms else {}


def finetune_loss(model: Any, terms: Sequence[TermSpec]) -> FinetuneLoss:
    layers = Layers(model)
    made = tuple((t, STATE_TERMS[t.name].make(layers, **dict(t.params))) for t in terms)
    return FinetuneLoss(model, made)
