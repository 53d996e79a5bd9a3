"""Attention far from a teacher's (wiegreffe2019): the loss falls as the two grow apart."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics import jsd, kl
from heedful.models import main_site
from heedful.training.imitation import said_by, teacher_of
from heedful.training.term import Lesson, Term, read_rows
from heedful.types import Batch, Trace

FLOOR = 1e-10
"""The least a teacher's weight counts for: KL would reward a token it gave nothing without end."""

Rows = Float[Tensor, "b h q k"]
Divergence = Callable[[Rows, Rows, Bool[Tensor, "b h q k"]], Float[Tensor, "b h q"]]


def apart(lesson: Lesson, divergence: str = "kl") -> Term:
    """Minus the mean divergence from the teacher's main attention on the same batch; an
    example's heads and steps are averaged first."""
    if divergence not in DIVERGENCES:
        raise unknown_name("divergence", divergence, list(DIVERGENCES))
    site, other = main_site(lesson.model), main_site(teacher_of(lesson)).name
    if not site.normalised:
        raise HeedfulError("the term apart needs weights that sum to 1, and this model has a gate.")
    measure = DIVERGENCES[divergence]

    def value(batch: Batch, trace: Trace) -> Tensor:
        own, theirs = trace.weights[site.name], said_by(lesson, batch).weights[other]
        if own.shape != theirs.shape:
            raise HeedfulError(
                f"the teacher's attention has the shape {tuple(theirs.shape)}, the model's "
                f"{tuple(own.shape)}: take a teacher of the same family and tokens."
            )
        mask = trace.masks[site.name].expand_as(own)
        found = measure(own.double(), theirs.double(), mask)
        return -_by_example(found, read_rows(trace, batch, mask)).mean()

    return Term(value)


def _kl(own: Tensor, theirs: Tensor, mask: Tensor) -> Tensor:
    return kl(own, theirs.clamp_min(FLOOR), mask)


def _jsd(own: Tensor, theirs: Tensor, mask: Tensor) -> Tensor:
    return jsd(own * mask, theirs * mask)


DIVERGENCES: dict[str, Divergence] = {"kl": _kl, "jsd": _jsd}


def _by_example(
    values: Float[Tensor, "b h q"], there: Bool[Tensor, "b h q"]
) -> Float[Tensor, " b"]:
    """The mean over an example's rows; 0 where it has none."""
    kept = torch.where(there, values, 0.0).sum((1, 2))
    return kept / there.sum((1, 2)).clamp_min(1)


PIECE = Piece(
    name="apart",
    description="minus the divergence from a teacher's attention: kl (of the model's) or jsd",
    make=apart,
    needs=("teacher",),
    paper="wiegreffe2019",
    citation="Wiegreffe & Pinter 2019, Attention is not not Explanation, EMNLP",
)
