"""How an audit is run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from heedful.progress import Progress, silent
from heedful.store import Place, Store, store_at

LOOKS = 4
"""How often the evidence is looked at where time is short."""


@dataclass(frozen=True)
class Plan:
    """How an audit is run; none of it changes what is measured on a text.

    With a `budget` in seconds the evidence is looked at four times on the way, each look at a
    price in alpha, and the audit ends when the verdict is clear or the time is up: at
    `deadline`, by the `clock`, which runs from before the model is loaded. What is measured is
    kept in the `store`, if there is one. What was asked for by name `must` be measured:
    explanations and groups. Before a long measurement starts, `progress` and `announce` are told
    how long it will take, in words."""

    store: Store | Place | None = None
    budget: float | None = None
    progress: Progress = silent
    must: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.monotonic
    deadline: float | None = None
    announce: Callable[[str], None] | None = None

    @cached_property
    def opened(self) -> Store | None:
        """The store, wherever it is."""
        return None if self.store is None else store_at(self.store)

    def started(self) -> Plan:
        """From now on time counts, unless it does already."""
        if self.budget is None or self.deadline is not None:
            return self
        return replace(self, deadline=self.clock() + self.budget)
