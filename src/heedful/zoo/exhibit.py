"""An exhibit: a model with its texts, and what a verdict on it may and must not say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from heedful.subjects.subject import Subject
from heedful.verdict.decide import Decision
from heedful.zoo.plan import Kind, Plan


@dataclass(frozen=True)
class Exhibit:
    """`strength` is the share of texts in which attention is the decision, where that is
    graded; exhibits of one `ladder` differ in it alone. A decision in `expected` is right,
    one in `forbidden` says the opposite of the truth, any other is merely not right."""

    name: str
    family: str
    kind: Kind
    strength: float
    ladder: int
    expected: frozenset[Decision]
    forbidden: frozenset[Decision]
    plan: Callable[[], Plan]
    build: Callable[[Plan, str], AbstractContextManager[Subject]]

    def opened(self) -> AbstractContextManager[Subject]:
        """The subject, for the length of a `with` block: some models are only lent."""
        return self.build(self.plan(), self.name)

    @property
    def truth(self) -> str:
        """Whether attention explains: `yes`, `no`, or `partly` where nothing is forbidden."""
        if not self.forbidden:
            return "partly"
        return "no" if Decision.SUPPORTED in self.forbidden else "yes"
