"""Models trained to attend elsewhere than the base does (wiegreffe2019, test 4).

A `teacher` adversary imitates the base's outputs; a `labels` one learns the task instead, so
that it need not repeat the base's mistakes (tutek2020). All start from one seed that is not
the base's, so that only what they were trained for tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from heedful.catalogue import Role
from heedful.errors import HeedfulError
from heedful.specs import TermSpec

FRESH = 1
"""How far an adversary's seed is from the base's."""


@dataclass(frozen=True)
class Schooling:
    """How long adversaries are trained, and what keeps their attention away."""

    epochs: int = 80
    patience: int = 10
    divergence: str = "kl"


def adversary(weight: float, school: Schooling = Schooling(), goal: str = "teacher") -> Role:
    """With the weight 0 it only imitates (or learns the task once more). What the base's loss
    has beside the task stays: adversaries are of the same kind of model."""
    params = () if school.divergence == "kl" else (("divergence", school.divergence),)
    train = {"epochs": school.epochs, "patience": school.patience, "select": "loss"}
    return Role({"goal": goal}, train, FRESH, "base", (TermSpec("apart", weight, params),))


def check_weight(weight: float) -> float:
    if not 0 <= weight < float("inf"):
        raise HeedfulError(f"an adversary's weight is {weight}: give a number that is at least 0.")
    return float(weight)
