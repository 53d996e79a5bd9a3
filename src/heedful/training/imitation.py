"""To say what a teacher says (wiegreffe2019): the distance between outputs as the loss.

The families here classify or write, so outputs are distributions and their distance is the
total variation; a model of regression would take the squared difference instead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.metrics import tvd
from heedful.models import Family, probabilities
from heedful.training.objective import Objective, target_steps
from heedful.training.term import Lesson
from heedful.types import Batch, Trace


def teacher_of(lesson: Lesson) -> Family:
    if lesson.teacher is None:
        raise HeedfulError(
            "this training needs a teacher, another model of the same corpus: `heedful study "
            "wiegreffe2019` trains such pupils."
        )
    return lesson.teacher


def said_by(lesson: Lesson, batch: Batch) -> Trace:
    """What the teacher makes of a batch: once, though the goal and a term both ask."""
    if not lesson.heard or lesson.heard[0][0] is not batch:
        with torch.no_grad():
            lesson.heard[:] = [(batch, teacher_of(lesson)(batch))]
    return lesson.heard[0][1]


def teacher_loss(lesson: Lesson) -> Objective:
    """Mean total variation distance over all classes; of a target, over its steps."""
    teacher_of(lesson)  # refused before training, not at its first batch

    def loss(trace: Trace, batch: Batch) -> Tensor:
        said = said_by(lesson, batch)
        return tvd(_distributions(trace, batch), _distributions(said, batch)).mean()

    return loss


def _distributions(trace: Trace, batch: Batch) -> Tensor:
    """One row for each example, or for each step of a target."""
    if trace.step_logits is None:
        return probabilities(trace.logits)
    logits, _, there = target_steps(trace, batch)
    return probabilities(logits[there])
