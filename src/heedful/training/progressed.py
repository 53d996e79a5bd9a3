"""How far a training is: what happened in each epoch, and the weights that were best on dev."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor, nn

from heedful.errors import HeedfulError

SAME = 1e-9
"""Dev scores no further apart are the same score."""


class DevScore(NamedTuple):
    """An epoch on the dev split: the score it is chosen by, more being better, and the loss."""

    score: float
    loss: float


@dataclass
class Progressed:
    """Finished epochs with their history, and the best so far.

    Of epochs with the same score the one with the lowest dev loss is kept, and of equal losses
    the latest; with `ties="first"` the first one. `kept` is the number of the kept epoch,
    `improved` that of the last one that was better than all before it.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    kept: int = 0
    improved: int = 0
    ties: str = "loss"

    @property
    def epochs(self) -> int:
        return len(self.history)

    def record(
        self, model: nn.Module, losses: Mapping[str, float], dev: DevScore, started: float
    ) -> None:
        """One epoch more, begun when `time.perf_counter` said `started`."""
        if math.isnan(dev.score):  # it would beat no other: the first epoch would be kept unsaid
            raise HeedfulError("the dev split has no such score: it needs examples of every class.")
        better = self._compared(dev)
        seconds = round(time.perf_counter() - started, 3)
        scores = {"dev_score": dev.score, "dev_loss": dev.loss, "seconds": seconds}
        self.history.append({"epoch": self.epochs + 1, **losses, **scores})
        if better > 0:
            self.improved = self.epochs
        if better > 0 or (better == 0 and self.ties == "loss"):
            self.kept = self.epochs
            self.best = {name: each.detach().clone() for name, each in model.state_dict().items()}

    def stopped(self, patience: int | None) -> bool:
        """Whether the last improvement is `patience` epochs ago."""
        return patience is not None and 0 < patience <= self.epochs - self.improved

    def _compared(self, dev: DevScore) -> float:
        """Above 0 if better than the kept epoch, 0 if as good, below 0 if worse."""
        if not self.kept:
            return 1.0
        best = self.history[self.kept - 1]
        ahead: float = dev.score - best["dev_score"]
        if self.ties == "first" or abs(ahead) > SAME:
            return ahead
        return float(best["dev_loss"] - dev.loss)
