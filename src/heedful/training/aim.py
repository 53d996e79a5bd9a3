"""What a model is trained for: the goal's loss, and the terms beside it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from heedful.catalogue import Catalogue
from heedful.errors import HeedfulError, unknown_name
from heedful.models.family import Family
from heedful.specs import GOALS, ModelSpec, TermSpec, TrainSpec
from heedful.training.imitation import teacher_loss
from heedful.training.objective import Objective, class_loss, target_loss
from heedful.training.term import Data, Lesson, Term, together
from heedful.training.terms import TERMS
from heedful.types import Batch, Keep


@dataclass(frozen=True)
class Aim:
    """The goal is what the labels or what a teacher says; `terms` count beside it."""

    goal: str = "labels"
    terms: tuple[TermSpec, ...] = ()
    teacher: Family | None = None


@dataclass(frozen=True)
class Loss:
    """The whole loss of a batch, and by name the parts it is the sum of."""

    model: Family
    goal: Objective
    terms: tuple[tuple[TermSpec, Term], ...] = ()
    keep: Keep = field(default_factory=Keep)

    def __call__(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        trace = self.model(batch, keep=self.keep)
        parts = {"goal": self.goal(trace, batch)}
        for spec, term in self.terms:
            parts[spec.title] = spec.weight * term.value(batch, trace)
        return torch.stack([part.double() for part in parts.values()]).sum(), parts


def loss_of(model: Family, corpus: Data, spec: TrainSpec, aim: Aim) -> Loss:
    lesson = Lesson(model, corpus, aim.teacher)
    terms = tuple((t, TERMS[t.name].make(lesson, **dict(t.params))) for t in aim.terms)
    keep = together([Keep(), *(term.keep for _, term in terms)])
    return Loss(model, _goal(lesson, spec, aim), terms, keep)


def _goal(lesson: Lesson, spec: TrainSpec, aim: Aim) -> Objective:
    corpus = lesson.corpus
    if aim.goal == "teacher":
        return teacher_loss(lesson)
    if corpus.task == "generation":
        return target_loss(spec.smoothing)
    return class_loss(corpus.split("train").labels, corpus.classes, spec.class_weights)


def check(spec: ModelSpec) -> None:
    """Refuse a goal or a term that is none, before any work is done."""
    if spec.goal not in GOALS:
        raise unknown_name("goal", spec.goal, list(GOALS))
    check_terms(spec.terms, TERMS)


def check_terms(terms: Sequence[TermSpec], catalogue: Catalogue) -> None:
    """Each is in the catalogue, takes its parameters, and counts for something or nothing."""
    for term in terms:
        known = list(inspect.signature(catalogue[term.name].make).parameters)[1:]
        for name, _ in term.params:
            if name not in known:
                raise unknown_name(f"parameter of the term {term.name}", name, known or ["(none)"])
        if not 0 <= term.weight < math.inf:
            raise HeedfulError(
                f"the term {term.name} counts {term.weight:g}: give a number that is not negative."
            )
