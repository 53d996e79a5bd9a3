"""What is kept of the model's outputs: the explained quantity and the decision.

A language model has a logit for every word it knows, and thousands of sets of words are asked
about: whole outputs would fill the machine's memory, and nobody reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.models import class_logits
from heedful.removal.memory import Memory
from heedful.removal.operator import Operator
from heedful.removal.removed import Read, removed_many
from heedful.types import Batch, Model, Target


@dataclass(frozen=True)
class Answers:
    """For each set of words that was gone: the explained quantity, and the class decided for."""

    value: Float[Tensor, "b m"]
    decision: Int[Tensor, "b m"]


def answers(
    model: Model,
    batch: Batch,
    explained: tuple[Target, Int[Tensor, " b"]],
    gone: Bool[Tensor, "b m w"],
    operator: str | Operator,
    memory: Memory | None = None,
) -> Answers:
    """What the model says without these words; `explained` are target and class. A `memory`
    must be of the same model, batch, explained quantity and operator."""
    known = None if memory is None else memory.subsets
    if known is None:
        return _asked(model, batch, explained, gone, operator, memory)
    number, short = known.numbers(gone), known.short[:, None]
    value, decision = known.value.gather(1, number), known.decision.gather(1, number)
    if bool(short.all()):
        return Answers(value, decision)
    gone = gone & ~short[..., None]
    found = _asked(model, batch, explained, gone, operator, memory)
    return Answers(
        torch.where(short, value, found.value), torch.where(short, decision, found.decision)
    )


def _asked(
    model: Model,
    batch: Batch,
    explained: tuple[Target, Tensor],
    gone: Tensor,
    operator: str | Operator,
    memory: Memory | None,
) -> Answers:
    read = _reader(*explained)
    found = removed_many(model, batch, gone, operator, memory=memory, read=read)
    return Answers(found[..., 0], found[..., 1].long())


def _reader(target: Target, label: Tensor) -> Read:
    """Class numbers are exact in float64, so one tensor holds both."""

    def read(logits: Tensor, example: Tensor) -> Tensor:
        value = target(logits, label.to(logits.device)[example]).double()
        return torch.stack([value, class_logits(logits).argmax(-1).double()], -1)

    return read
