"""How an audit is run: its plan, its pace, texts in waves, and what it will cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from heedful.attributions import fit_prior
from heedful.auditing.explanation import Cost, timed
from heedful.auditing.measure import Measurer, checked_texts
from heedful.auditing.spec import AuditSpec
from heedful.data import groups
from heedful.experiments import HeadMeans, head_means
from heedful.hashing import stable_hash
from heedful.progress import Progress, seconds_each, silent
from heedful.store import Place, Store, store_at
from heedful.targets import AuditTarget
from heedful.types import Batch

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
    by_token: bool = True
    """Whether the answers that a page shows with maps are explained token by token, too."""

    @cached_property
    def opened(self) -> Store | None:
        """The store, wherever it is."""
        return None if self.store is None else store_at(self.store)

    def started(self) -> Plan:
        """From now on time counts, unless it does already."""
        if self.budget is None or self.deadline is not None:
            return self
        return replace(self, deadline=self.clock() + self.budget)


# How fast texts are measured, and how many more there is time for.


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


# Texts in random order, some at a time: whatever has been measured is a random sample.


WAVE = 32
LARGE = 256
MANY = 1024
FIRST = 2
TOKENS_AT_ONCE = 4096


def waves(
    subject: AuditTarget, seed: int, wave: int | None = None, first: int = WAVE
) -> Iterator[NDArray[np.int64]]:
    """`first` texts, then each time as many as came before, at most `wave`: where time is
    short, little is begun before it is known how long a text takes. Where it is not and there
    are many texts, more of them at a time take less."""
    order = _order(subject, seed)
    large = first == WAVE and len(order) > MANY
    most = wave or (LARGE if large else WAVE)
    start = 0
    while start < len(order):
        end = start + min(most, max(first, start))
        yield order[start:end]
        start = end


def first_texts(subject: AuditTarget, seed: int, most: int) -> frozenset[str]:
    """Those that are measured first, however many are in the end."""
    return frozenset(subject.ids[int(i)] for i in _order(subject, seed)[:most])


AVERAGED = 256
"""Texts over which the outputs of heads are averaged, where there are so many."""


def ablation_means(
    subject: AuditTarget, spec: AuditSpec, some: Iterable[Batch] | None = None
) -> HeadMeans:
    """What heads put out on average, over some texts or over the first ones of the audit; nothing
    where no head is ablated."""
    if "head_ablation" not in spec.only:
        return HeadMeans()
    first = _order(subject, spec.seed)[:AVERAGED]
    return head_means(subject.model, some or map(subject.encode, batches(subject, first)))


def _order(subject: AuditTarget, seed: int) -> NDArray[np.int64]:
    keys = (stable_hash(seed, "wave", name) for name in subject.ids)
    return np.argsort(np.fromiter(keys, dtype=np.float64, count=len(subject)), kind="stable")


def batches(subject: AuditTarget, wave: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Texts of like length, as many as fit. So only whole waves are random samples."""
    if not len(wave):
        return
    lengths = subject.lengths[wave]
    for part in groups(lengths, TOKENS_AT_ONCE, len(lengths)):
        yield wave[part]


# What an audit will cost, from a few texts measured now.


SLOW = 10.0
"""Seconds: where one text takes longer, a second one is timed and no more."""
QUICK = 4.0
"""Seconds: where a few texts take less, most of it is not the model, and a wave is timed too."""
PASSES = 1000
"""About how many runs of the model the usual measures take for a text: for a first guess."""


@dataclass(frozen=True)
class Estimate:
    """`passes_per_text` counts texts through the model; `timed` are the texts that were measured
    to know."""

    texts: int
    timed: int
    seconds: float
    passes_per_text: float


def estimate_subject(subject: AuditTarget, spec: AuditSpec) -> Estimate:
    """A batch takes some time whatever is in it, and each text some more. They are told apart by
    batches of two sizes, of texts spread over all lengths; where the model is slow, the texts
    are all that counts."""
    total = len(subject)
    few = many = _timed(subject, spec, 1)
    slow = few.seconds > SLOW
    if total > 1:
        many = _timed(subject, spec, min(total, 2 if slow else 4))
    if total > 4 and many.seconds < QUICK:
        few, many = many, _timed(subject, spec, min(total, WAVE))
    each = many.seconds / many.texts
    if not slow and many.texts > few.texts:
        each = seconds_each((few.texts, few.seconds), (many.texts, many.seconds))
    beside = max(many.seconds - each * many.texts, 0.0)
    parts = sum(1 for wave in waves(subject, spec.seed) for _ in batches(subject, wave))
    seconds = beside * parts + each * total
    return Estimate(total, many.texts, seconds, many.passes / many.texts)


def first_guess(subject: AuditTarget) -> float:
    """Seconds an audit may take, from two runs of the model, which is cheap and rough."""
    batch = subject.encode(_spread(subject, min(len(subject), WAVE)))
    with torch.no_grad():
        subject.model(batch)
        start = time.perf_counter()
        subject.model(batch)
    return (time.perf_counter() - start) / len(batch) * PASSES * len(subject)


def _timed(subject: AuditTarget, spec: AuditSpec, texts: int) -> Cost:
    batch = subject.encode(_spread(subject, texts))
    checked = checked_texts(batch.ids, spec.seed)
    means = ablation_means(subject, spec, [batch])
    measure = Measurer(subject.model, spec, fit_prior([batch]), checked, means=means)
    cost = Cost(texts=texts)
    with timed(subject.model, cost):
        measure(batch, batch.ids)
    return cost


def _spread(subject: AuditTarget, count: int) -> NDArray[np.int64]:
    """Texts from the middle of as many parts of all, by length."""
    order = np.argsort(subject.lengths, kind="stable")
    places = [int((i + 0.5) * len(order) / count) for i in range(count)]
    return order[places]
