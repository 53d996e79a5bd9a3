"""Diversity of the states (mohankumar2020): the loss grows with their conicity."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.metrics import conicity
from heedful.training.term import Lesson, Term, attended_states
from heedful.types import Batch, Keep, Trace


def diversity(lesson: Lesson) -> Term:
    def value(batch: Batch, trace: Trace) -> Tensor:
        return conicity(*attended_states(lesson.model, trace)).mean()

    return Term(value, Keep(states=True))


PIECE = Piece(
    name="diversity",
    description="conicity of the attended states, so that they point different ways",
    make=diversity,
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)
