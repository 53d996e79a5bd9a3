"""To say what a teacher says (wiegreffe2019): the distance between outputs as the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.metrics.tvd import tvd
from heedful.models.family import Family
from heedful.models.output import probabilities
from heedful.training.objective import Objective, target_steps
from heedful.training.term import Lesson
from heedful.types import Batch, Trace


def teacher_of(lesson: Lesson) -> Family:
    if lesson.teacher is None:
        raise HeedfulError("this training needs a teacher: another model of the same corpus.")
    return lesson.teacher


def teacher_loss(lesson: Lesson) -> Objective:
    """Mean total variation distance over all classes; of a target, over its steps."""
    teacher = teacher_of(lesson)

    def loss(trace: Trace, batch: Batch) -> Tensor:
        with torch.no_grad():
            said = teacher(batch)
        return tvd(_distributions(trace, batch), _distributions(said, batch)).mean()

    return loss


def _distributions(trace: Trace, batch: Batch) -> Tensor:
    """One row for each example, or for each step of a target."""
    if trace.step_logits is None:
        return probabilities(trace.logits)
    logits, _, there = target_steps(trace, batch)
    return probabilities(logits[there])
