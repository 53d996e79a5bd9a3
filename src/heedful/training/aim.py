"""What a model is trained for: the goal's loss, and the terms beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from heedful.catalogue import Catalogue
from heedful.errors import HeedfulError, unknown_name
from heedful.models import Family
from heedful.parameters import check_parameters, parameters_of
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
            value = spec.weight * term.value(batch, trace)
            parts[spec.title] = parts.get(spec.title, 0.0) + value
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


def check_data(spec: ModelSpec, model: Family, corpus: Data) -> None:
    """Refuse terms that the corpus or the model has nothing for; those with a teacher are
    made when there is one."""
    lesson = Lesson(model, corpus)
    for term in spec.terms:
        if "teacher" not in TERMS[term.name].needs:
            TERMS[term.name].make(lesson, **dict(term.params))


def check_terms(terms: Sequence[TermSpec], catalogue: Catalogue) -> None:
    """Each is there once and in the catalogue, takes its parameters, and counts for something
    or nothing."""
    titles = [term.title for term in terms]
    for term in terms:
        if titles.count(term.title) > 1:
            raise HeedfulError(f"the term {term.title} is there twice: leave one out.")
        piece = catalogue[term.name]
        handed = list(parameters_of(piece.make))[:1]  # what it learns from
        what = f"the term {term.name}"
        check_parameters(what, piece.make, dict(term.params), piece.bounds, handed)
        if not 0 <= term.weight < math.inf:
            raise HeedfulError(
                f"the term {term.name} counts {term.weight:g}: give a number that is not negative."
            )
