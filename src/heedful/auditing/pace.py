"""How fast texts are measured, and how many more there is time for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Pace:
    """What texts have taken so far, by this clock; no deadline leaves time for everything."""

    clock: Callable[[], float]
    deadline: float | None = None
    seconds: float = 0.0
    texts: int = 0

    @contextmanager
    def measuring(self, texts: int) -> Iterator[None]:
        start = self.clock()
        yield
        self.seconds += self.clock() - start
        self.texts += texts

    def affordable(self, wave: NDArray[np.int64]) -> NDArray[np.int64]:
        """The wave, or its first texts, still a random sample, where time is left for no more
        of them at the pace so far. The first texts are always measured."""
        if self.deadline is None or not self.texts:
            return wave
        left = max(0.0, self.deadline - self.clock())
        return wave[: int(left / max(self.seconds / self.texts, 1e-9))]
