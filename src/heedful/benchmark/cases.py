"""The models of the benchmark, and which of them are for development and which are held out.

Rules and thresholds are chosen on development models. Held-out models have other seeds, and some
kinds are held out altogether; they are looked at once, when the rules are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from heedful.benchmark.compiled_one_sequence import one_sequence
from heedful.benchmark.compiled_plan import Kind, Plan, plan
from heedful.benchmark.compiled_transformer import transformer
from heedful.benchmark.generated import subject
from heedful.benchmark.trained_models import KINDS as TRAINED
from heedful.benchmark.trained_models import TrainedKind
from heedful.benchmark.trained_texts import Corpus
from heedful.benchmark.trained_truth import outputs, verify, word_effects
from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.targets import AuditTarget

Builder = Callable[[Plan, str], AbstractContextManager[AuditTarget]]
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

    def opened(self) -> AbstractContextManager[AuditTarget]:
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


PARTS = ("trained", "compiled")
DEVELOPMENT, HELD_OUT = "development", "held-out"
FIRST_HELD_OUT = 400
"""Seeds below are for development, from here on held out."""
ONLY_HELD_OUT = frozenset({"redundant", "negated", "xor", "long", "sink"})
"""Trained kinds that no rule was chosen on."""
POSITIVE = ("average", "embedding")
"""The positive controls: many seeds of a few texts, beside the populations."""
FEW = 200
POPULATION = 5000
SEEDS = 1
CONTROLS = 20

Effects = list[NDArray[np.float64]]


@dataclass(frozen=True)
class Opened:
    """`truth` has at least the answer (`truth`): yes, no, partly or unverified. `effects` gives,
    of the documents at some places, how much each word is known to matter."""

    subject: AuditTarget
    truth: Mapping[str, float | str]
    effects: Callable[[Sequence[int]], Effects]


@dataclass(frozen=True)
class Case:
    """One model with its texts. `dose` is the share of the decision that attention does not show,
    where that is graded."""

    part: str
    kind: str
    seed: int
    texts: int
    dose: float | None
    open: Callable[[], AbstractContextManager[Opened]]

    @property
    def name(self) -> str:
        return f"{self.part}-{self.kind}-{self.seed}"

    @property
    def split(self) -> str:
        return split_of(self.kind, self.seed)


def split_of(kind: str, seed: int) -> str:
    held = seed >= FIRST_HELD_OUT or kind in ONLY_HELD_OUT
    return HELD_OUT if held else DEVELOPMENT


def cases(
    parts: Sequence[str] = PARTS,
    held_out: bool = False,
    seeds: Sequence[int] = (),
    texts: int = POPULATION,
    kinds: Sequence[str] = (),
) -> list[Case]:
    """Populations of every kind, then the controls; or, with `seeds`, populations of these."""
    for part in parts:
        if part not in PARTS:
            raise unknown_name("part of the benchmark", part, list(PARTS))
    for kind in kinds:
        if kind not in names():
            raise unknown_name("kind of model", kind, names())
    if texts < 1:
        raise HeedfulError(f"--texts is {texts}: give at least 1.")
    if any((seed >= FIRST_HELD_OUT) != held_out for seed in seeds):
        raise HeedfulError(
            f"--seeds {','.join(map(str, seeds))} are not all of this part: development has the "
            f"seeds below {FIRST_HELD_OUT}, --held-out those from it on."
        )
    first = FIRST_HELD_OUT if held_out else 0
    chosen = list(seeds) or list(range(first, first + SEEDS))
    wanted = [
        case
        for part in parts
        for seed in chosen
        for case in (_trained if part == "trained" else _compiled)(seed, texts)
    ]
    if "trained" in parts and not seeds:
        wanted += [
            _case(TRAINED[kind], seed, min(FEW, texts))
            for kind in POSITIVE
            for seed in range(first + SEEDS, first + CONTROLS)
        ]
    split = HELD_OUT if held_out else DEVELOPMENT
    found = [case for case in wanted if case.split == split and (not kinds or case.kind in kinds)]
    if not found:
        raise HeedfulError(
            f"{', '.join(kinds)} is not in the {split} part of it: choose another --part, "
            f"other --kinds, or --held-out for {', '.join(sorted(ONLY_HELD_OUT))}."
        )
    return found


def names() -> list[str]:
    return [*TRAINED, *(case.kind for case in _compiled(0, 1))]


def _trained(seed: int, texts: int) -> Iterator[Case]:
    for kind in TRAINED.values():
        yield _case(kind, seed, texts)


def _case(kind: TrainedKind, seed: int, texts: int) -> Case:
    return Case("trained", kind.name, seed, texts, kind.dose, partial(_open, kind, seed, texts))


@contextmanager
def _open(kind: TrainedKind, seed: int, texts: int) -> Iterator[Opened]:
    corpus = Corpus(kind.rule, seed)
    some = corpus.texts("population", texts)
    with kind.opened(corpus) as (model, digest):
        documents = [corpus.document(text) for text in some]
        rows = [corpus.row(text.words) for text in some]
        audited = subject(model, documents, rows, kind.name, (kind.name, digest))

        def effects(places: Sequence[int]) -> Effects:
            whole = outputs(model, corpus, [some[place].words for place in places])
            return [
                word_effects(model, corpus, some[place], row)
                for place, row in zip(places, whole, strict=True)
            ]

        yield Opened(audited, verify(model, corpus).to_dict(), effects)


def _compiled(seed: int, texts: int) -> Iterator[Case]:
    for exhibit in gallery(seed, texts):
        kind, dose = f"{exhibit.family}-{exhibit.kind}", None
        if exhibit.graded:
            kind, dose = f"{kind}-{exhibit.strength}", 1 - exhibit.strength
        yield Case("compiled", kind, seed, texts, dose, partial(_exhibited, exhibit))


@contextmanager
def _exhibited(exhibit: Exhibit) -> Iterator[Opened]:
    """What is true of it was written into its weights; a test holds the weights to it."""
    with exhibit.opened() as audited:

        def effects(places: Sequence[int]) -> Effects:
            marks = (audited.documents[place].rationale or () for place in places)
            return [np.array(mark, dtype=np.float64) for mark in marks]

        yield Opened(audited, {"truth": exhibit.truth}, effects)
