"""What a term of the loss is, and what it may be made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.corpora import Split
from heedful.errors import HeedfulError
from heedful.models import Family, main_site
from heedful.training.objective import target_steps
from heedful.types import Batch, Keep, Trace


class Data(Protocol):
    """What training asks of a corpus."""

    @property
    def task(self) -> str: ...

    @property
    def classes(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def vectors(self) -> Tensor: ...

    def split(self, name: str) -> Split: ...


@dataclass(frozen=True)
class Lesson:
    """What a term may know besides the batch: the model that learns, what it learns from, and
    its teacher, where it has one, with the last batch it was `heard` about."""

    model: Family
    corpus: Data
    teacher: Family | None = None
    heard: list[tuple[Batch, Trace]] = field(default_factory=list)


Value = Callable[[Batch, Trace], Tensor]


@dataclass(frozen=True)
class Term:
    """`value(batch, trace)` is one number, a mean over the batch's examples; `keep` says what
    of a forward pass it looks at. Draws of its own come from torch's generator, which the
    loop seeds."""

    value: Value
    keep: Keep = field(default_factory=Keep)


def together(keeps: Sequence[Keep]) -> Keep:
    """What all of them ask for."""
    names = [each.name for each in fields(Keep)]
    return Keep(**{name: any(getattr(keep, name) for keep in keeps) for name in names})


def attended_states(
    model: Family, trace: Trace
) -> tuple[Float[Tensor, "b k d"], Bool[Tensor, "b k"]]:
    """The states the main attention mixes, with their gradients, and which of them it may see."""
    site = main_site(model).name
    if site not in trace.states:
        raise HeedfulError(
            f"this family does not keep the states that {site} mixes: leave the term out, or "
            f"choose another family."
        )
    return trace.states[site], trace.masks[site].any(1).any(1)


def read_rows(trace: Trace, batch: Batch, mask: Bool[Tensor, "b h q k"]) -> Bool[Tensor, "b h q"]:
    """The rows that attend to something; of a target's steps, those after which a token comes:
    what is padded and what follows the end would count by the batch they are in."""
    there = mask.any(-1)
    if trace.step_logits is None:
        return there
    steps = target_steps(trace, batch)[2]
    return there & torch.nn.functional.pad(steps, (0, 1))[:, None]
