"""The compiled models: every kind in every family, and a mixture in steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from heedful.benchmark.compiled.one_sequence import one_sequence
from heedful.benchmark.compiled.plan import Kind, Plan, plan
from heedful.benchmark.compiled.transformer import transformer
from heedful.randomness import stable_hash
from heedful.subjects import Subject

Builder = Callable[[Plan, str], AbstractContextManager[Subject]]
FAMILIES: Mapping[str, Builder] = {"one-sequence": one_sequence, "transformer": transformer}
GRADED = "one-sequence"
"""The family of the mixtures."""
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
LARGEST_SEED = 1 << 30


@dataclass(frozen=True)
class Exhibit:
    """A model with its texts. `strength` is the share of texts in which attention is the
    decision: graded in a mixture, all or none in every other kind."""

    family: str
    kind: Kind
    strength: float
    seed: int
    texts: int

    @property
    def graded(self) -> bool:
        return self.kind is Kind.MIXTURE

    @property
    def truth(self) -> str:
        """Whether attention explains: `yes`, `no` or `partly`."""
        return {0.0: "no", 1.0: "yes"}.get(self.strength, "partly")

    @property
    def name(self) -> str:
        """Texts are named after it, and random numbers are drawn by their names."""
        graded = f"-{self.strength:.2f}" if self.graded else ""
        return f"{self.family}-{self.kind}-0{graded}"

    def plan(self) -> Plan:
        """The strengths of a mixture share one seed, so they share words and texts."""
        own = stable_hash(self.seed, self.family, self.kind, 0) % LARGEST_SEED
        return plan(self.kind, self.strength, own, self.texts)

    def opened(self) -> AbstractContextManager[Subject]:
        """The subject, for the length of a `with` block: some models are only lent."""
        return FAMILIES[self.family](self.plan(), self.name)


def gallery(seed: int, texts: int) -> list[Exhibit]:
    """Every kind once in each family, and a mixture of every strength."""
    plain = [kind for kind in Kind if kind is not Kind.MIXTURE]
    return [
        *(
            Exhibit(family, kind, float(kind is Kind.DECISION), seed, texts)
            for family in FAMILIES
            for kind in plain
        ),
        *(Exhibit(GRADED, Kind.MIXTURE, strength, seed, texts) for strength in STRENGTHS),
    ]
