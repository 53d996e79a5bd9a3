"""What search asks of a model that writes: begin, read one token, keep some rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.family import Family
from heedful.types import Batch, Edits

State = Any
"""A family's own: what it remembers of sources and of the targets written so far."""


class Writer(Family):
    """A family that writes its targets, one token after the other."""

    @abstractmethod
    def start(self, batch: Batch, edits: Edits | None = None) -> State:
        """Read the sources; the targets of the batch are not looked at. Edits are called at
        every step, with its number."""

    @abstractmethod
    def step(
        self, state: State, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], State]:
        """Read one token of each target, the t-th (0 is the start); logits of the next."""

    @abstractmethod
    def reorder(self, state: State, rows: Int[Tensor, " n"]) -> State:
        """The state of some rows, or of some of them several times."""
