"""How far a training is: what happened in each epoch, and the weights that were best on dev."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from heedful.errors import HeedfulError


@dataclass
class Progressed:
    """Finished epochs with their history, and the best so far."""

    history: list[dict[str, Any]] = field(default_factory=list)
    best_score: float = float("-inf")
    best: dict[str, Tensor] = field(default_factory=dict)

    @property
    def epochs(self) -> int:
        return len(self.history)

    def record(
        self, model: nn.Module, losses: Mapping[str, float], score: float, started: float
    ) -> None:
        """One epoch more, begun when `time.perf_counter` said `started`."""
        if math.isnan(score):  # it would beat no other, and the first epoch would be kept unsaid
            raise HeedfulError("the dev split has no such score: it needs examples of every class.")
        seconds = round(time.perf_counter() - started, 3)
        self.history.append(
            {"epoch": self.epochs + 1, **losses, "dev_score": score, "seconds": seconds}
        )
        if score > self.best_score or not self.best:
            self.best_score = score
            self.best = {name: each.detach().clone() for name, each in model.state_dict().items()}

    def stopped(self, patience: int | None) -> bool:
        """Whether the best epoch is `patience` epochs ago."""
        if patience is None or not self.history:
            return False
        scores = [row["dev_score"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) >= patience
