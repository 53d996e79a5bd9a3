"""The loss of a pretrained classifier: what the labels say, and the terms beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from heedful.specs import TermSpec
from heedful.training.finetune_states import Layers, StateTerm, states_of
from heedful.training.finetune_terms import STATE_TERMS

GOAL = "goal"


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
