"""How many tokens a hard attention takes (Bastings et al. 2019): the loss grows with the distance
of their expected share from a target.

The expected number of gates that are not 0 is known in closed form, Σ 1 − P(0), so nothing is
drawn; the gates that were drawn for the forward pass need not be known.
"""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.catalogue import SHARE, Piece
from heedful.errors import HeedfulError
from heedful.models import Hard, main_site
from heedful.training.term import Lesson, Term, attended_states
from heedful.types import Batch, Keep, Trace


def sparsity(lesson: Lesson, target: float = 0.1) -> Term:
    """`target` is the share of a text's tokens that should be taken."""
    if not 0 <= target <= 1:
        raise HeedfulError(f"the term sparsity has the target {target}: give a share from 0 to 1.")
    attention = _hard(lesson)

    def value(batch: Batch, trace: Trace) -> Tensor:
        states, seen = attended_states(lesson.model, trace)
        taken = 1 - attention.p_zero(states.masked_fill(~seen[..., None], 0.0))
        share = torch.where(seen, taken, 0.0).sum(-1) / seen.sum(-1).clamp_min(1)
        return (share - target).abs().mean()

    return Term(value, Keep(states=True))


def _hard(lesson: Lesson) -> Hard:
    attention = lesson.model.attentions.get(main_site(lesson.model).name)
    if not isinstance(attention, Hard):
        raise HeedfulError(
            "the term sparsity is about tokens that are taken or left, and this model weighs "
            "them: choose --attention hard."
        )
    return attention


PIECE = Piece(
    name="sparsity",
    description="distance of the expected share of selected tokens from a target",
    make=sparsity,
    bounds={"target": SHARE},
    needs=("attention",),
    citation="Bastings et al. 2019, Interpretable Neural Predictions with Differentiable Binary "
    "Variables, ACL",
)
