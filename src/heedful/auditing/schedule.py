"""How an audit is run: its plan, its pace, texts in waves, looks at them, and what it will cost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from heedful.attributions import fit_prior
from heedful.auditing.explanation import Cost, timed
from heedful.auditing.measure import Measurer, checked_texts
from heedful.auditing.spec import AuditSpec
from heedful.data import groups
from heedful.experiments import HeadMeans, head_means
from heedful.hashing import stable_hash
from heedful.progress import Progress, seconds_each, silent
from heedful.store import Place, Store, store_at, write_text
from heedful.targets import AuditTarget
from heedful.types import Batch
from heedful.verdict import Audience, Settings, look_sizes

USUAL_BUDGET = 300.0
"""Seconds that an audit may take, unless it is told how long or that all texts are measured."""


@dataclass(frozen=True)
class Plan:
    """How an audit is run; none of it changes what is measured on a text.

    One that `stops` looks at the evidence on the way, each look at a price in alpha, and ends
    when the answer is settled. With a `budget` in seconds it ends when the time is up: at
    `deadline`, by the `clock`, which runs from before the model is loaded. What is measured is
    kept in the `store`, if there is one. What was asked for by name `must` be measured:
    explanations and groups. Before a long measurement starts, `progress` and `announce` are told
    how long it will take, in words."""

    store: Store | Place | None = None
    budget: float | None = None
    stops: bool = False
    progress: Progress = silent
    must: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.monotonic
    deadline: float | None = None
    announce: Callable[[str], None] | None = None
    by_token: bool = True
    """Whether the answers that a page shows with maps are explained token by token, too."""
    audience: Audience = field(default_factory=Audience)
    """Who reads the explanation, and for what."""

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
    subject: AuditTarget,
    seed: int,
    wave: int | None = None,
    first: int = WAVE,
    ends: Sequence[int] = (),
) -> Iterator[NDArray[np.int64]]:
    """`first` texts, then each time as many as came before, at most `wave`: where time is
    short, little is begun before it is known how long a text takes. Where it is not, and there
    are many texts or a GPU, more of them at a time take less. A wave ends at each of the `ends`."""
    order = _order(subject, seed)
    if first == WAVE and torch.device(subject.device).type == "cuda":
        first = LARGE  # what a pass of the model takes there is the same for a few texts
    large = first == LARGE or (first == WAVE and len(order) > MANY)
    most = wave or (LARGE if large else WAVE)
    start = 0
    while start < len(order):
        whole = start + min(most, max(first, start))
        end = min((whole, *(each for each in ends if each > start)))
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


# When the evidence is looked at, kept beside the batches: who looks again pays for it, in a second
# start, too.


LOOKED = "looks.json"


@dataclass
class Looks:
    """At how many of all the `examples` the evidence `was` looked at so far, and whether a start
    began with few texts (`slowly`)."""

    folder: Path
    examples: int
    slowly: bool | None = None
    was: set[int] = field(default_factory=set)

    @staticmethod
    def kept(folder: Path, examples: int) -> Looks:
        """As an earlier start left them. If nobody can read how often it looked, it was often."""
        path = folder / LOOKED
        if not path.is_file():
            return Looks(folder, examples)
        try:
            known = json.loads(path.read_text(encoding="utf8"))
            was = {int(size) for size in known["was"] if 0 < int(size) <= examples}
            return Looks(folder, examples, bool(known["slowly"]), was)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return Looks(folder, examples, False, set(look_sizes(examples)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """After how many examples there is a look: those planned, and those that were taken."""
        return tuple(sorted({*look_sizes(self.examples), *self.was}))

    def begun(self, slowly: bool) -> None:
        """With few texts or not; a later start finds the same batches then."""
        self.slowly = slowly
        self._keep()

    def at(self, measured: int, settings: Settings) -> Settings:
        """What a look at so many examples decides by: remembered from now on."""
        if measured not in self.was:
            self.was.add(measured)
            self._keep()
        sizes = [size for size in sorted(self.was) if size <= measured]
        later = sum(size > measured for size in self.sizes)
        once = sizes == [self.examples]
        looked = () if once else tuple(size / self.examples for size in sizes)
        return replace(settings, look=len(sizes), looks=len(sizes) + later, looked=looked)

    def _keep(self) -> None:
        kept = {"slowly": bool(self.slowly), "was": sorted(self.was)}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / LOOKED, json.dumps(kept))


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


AT_ONCE = 1e13
"""Multiplications of a wave that is begun at once on a CPU: a minute or two of two cores."""


def is_slow(subject: AuditTarget) -> bool:
    """Whether a wave may take a good part of the time that there is, by the sizes of the model and
    its texts: on every machine the same, so that batches are, too. What has an embedding for each
    token only looks it up."""
    model = subject.model
    if not isinstance(model, nn.Module) or subject.device != "cpu":
        return subject.device == "cpu"
    modules = (each for each in model.modules() if not isinstance(each, nn.Embedding))
    weights = sum(own.numel() for each in modules for own in each.parameters(recurse=False))
    return 2 * weights * float(subject.lengths.mean()) * WAVE * PASSES > AT_ONCE


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
