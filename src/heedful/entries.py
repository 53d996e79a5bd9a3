"""What a registry holds: one class of entry for each kind, with the facts that kind must state.

An encoder, an experiment, a corpus, … is a value: its maker and the facts about it. A module
holds it as `ENTRY`, or several of them by name as `ENTRIES` (see `Entries`, for those that are
declared above what makes them); `heedful.registry` finds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Range = tuple[float, float]
"""The least and the greatest a number can be."""
SHARE: Range = (0.0, 1.0)
SIGNED: Range = (-1.0, 1.0)
LN2: Range = (0.0, math.log(2))
PERCENT: Range = (0.0, 100.0)
NOT_NEGATIVE: Range = (0.0, math.inf)
ANY: Range = (-math.inf, math.inf)
RESAMPLES: Range = (1, 100_000)
"""Of a bootstrap."""


@dataclass(frozen=True)
class Measure:
    """One number that is reported, and how to read it.

    A name that ends in `*` stands for all names that begin so. An unknown `range` is left out.
    `papers` are keys of the bibliography.
    """

    description: str
    higher_is_better: bool | None = None
    signed: bool = False
    range: Range | None = None
    formula: str = ""
    papers: tuple[str, ...] = ()


def declaration(name: str, measures: Mapping[str, Any]) -> str | None:
    """The name a number is declared under: its own, or the longest beginning that stands for it."""
    if name in measures:
        return name
    starred = [each for each in measures if each[-1] == "*" and name.startswith(each[:-1])]
    return max(starred, key=len, default=None)


def share(description: str, higher_is_better: bool | None = None) -> Measure:
    """A measure from 0 to 1."""
    return Measure(description, higher_is_better, range=SHARE)


def signed_share(description: str, higher_is_better: bool | None = None) -> Measure:
    """A measure from −1 to 1."""
    return Measure(description, higher_is_better, signed=True, range=SIGNED)


@dataclass(frozen=True)
class Role:
    """Another model that an experiment compares with the one on trial.

    `model` and `train` are where its specs differ, `seed` how far its seed is from the base
    model's, and `teacher` names the role (`base`, or one named earlier) that teaches it. It keeps
    the base's loss terms except those `without`, and adds `terms`. Where the data lack what the
    role `needs`, the experiment runs without it.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    teacher: str = ""
    terms: tuple[Any, ...] = ()
    without: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


Roles = Callable[..., Mapping[str, Role]]
Depends = Callable[..., Mapping[str, str]]
Find = Callable[[Path | None], Mapping[str, Path]]


def _nothing(**params: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Entry:
    """The facts that every kind of entry has.

    `version` goes up whenever the results of `make` change. `bounds` are the least and the
    greatest value of a parameter of `make`; `heedful.parameters` checks what a user gives
    against them and the signature. `needs` are what a model or its data must have. An entry of a
    plugin has an `origin`, which the registry writes down: the package it came with, or the code.
    """

    name: str
    description: str
    make: Callable[..., Any]
    version: int = 1
    paper: str = ""
    needs: tuple[str, ...] = ()
    citation: str = ""
    origin: str = ""
    bounds: Mapping[str, Range] = field(default_factory=dict)

    @property
    def plugin_facts(self) -> dict[str, str]:
        """What a run's key says of an entry beside its name and version: of our own, nothing."""
        return {"origin": self.origin} if self.origin else {}


@dataclass(frozen=True, kw_only=True)
class Scored(Entry):
    """An entry that yields numbers, and how to read them.

    `higher` says what a higher number means, `cost` what the cost grows with, and `limits` what
    the numbers do not say.
    """

    formula: str = ""
    range: Range | None = None
    higher: str = ""
    cost: str = ""
    limits: str = ""


@dataclass(frozen=True, kw_only=True)
class Attribution(Scored):
    """An explanation method: `make(model, batch, …)` scores each token, or each word.

    `uses` are the perturbations that the method runs the model under, or whose result is its
    baseline, such as `("delete",)`; `"=operator"` stands for the value of its parameter
    `operator`, and `()` for none. No explanation is scored by a perturbation that it uses.
    `signed` says whether scores can be negative; `level` is `tokens` or `words`. One that learns
    from other texts has `fit(model, batches, …)`, whose result `make` takes as its `texts`.
    """

    uses: tuple[str, ...]
    signed: bool
    level: str = "tokens"
    fit: Callable[..., Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment(Scored):
    """An experiment on trained models: `make(evidence, …)` returns findings.

    An experiment that compares models names their `roles`, given its parameters; one whose
    results depend on an installed package says on which version (`depends`). An experiment that
    looks at each text by itself (`by_text`) can be given part of them at a time.
    """

    measures: Mapping[str, Measure]
    roles: Roles = _nothing
    depends: Depends = _nothing
    by_text: bool = False
    sites: str = "any"

    @property
    def words(self) -> dict[str, Any]:
        """What a report says of it. It is kept with each run: reports import no experiments."""
        measures = {name: measure.description for name, measure in self.measures.items()}
        return {"higher": self.higher, "limits": self.limits, "measures": measures}


@dataclass(frozen=True, kw_only=True)
class Metric(Scored):
    """A function of arrays."""

    higher_is_better: bool | None = None
    signed: bool = False
    measures: Mapping[str, Measure] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Corpus(Entry):
    """A labelled corpus: `make(data_dir, …)` reads or generates all its examples.

    `kind` is single, pair or generation. `prepare` is how the corpus is prepared by default (a
    `PrepareSpec`). A corpus that reads files says with `find` where they are in a data folder, or
    where to get them, without reading any.
    """

    licence: str
    prepare: Any
    kind: str = "single"
    find: Find | None = None


@dataclass(frozen=True)
class ModelPart(Entry):
    """An encoder, a wrapper of encoders, or an attention layer."""


@dataclass(frozen=True, kw_only=True)
class ModelFamily(Entry):
    """A family of models for corpora of one `kind`."""

    kind: str = "single"


@dataclass(frozen=True)
class Perturbation(Entry):
    """A way to take input words away."""


@dataclass(frozen=True)
class WeightIntervention(Entry):
    """A way to replace attention weights."""


@dataclass(frozen=True)
class LossTerm(Entry):
    """A term of the training loss; one that needs `attention` is about how weights are made."""


@dataclass(frozen=True)
class PaperStudy(Entry):
    """The experiments of a paper: `make()` returns the `Study`."""


@dataclass(frozen=True)
class ReportFigure(Entry):
    """A figure of a report: `make(evidence)` draws it where one of the experiments it `needs`
    was run."""


@dataclass(frozen=True)
class PaperSummary(Entry):
    """A paper in five lines: `make(evidence)` writes what was found beside it."""


@dataclass(frozen=True, kw_only=True)
class Piece(Attribution, Experiment, Corpus):
    """An attribution, an experiment or a corpus of a plugin, with the facts of any of them.

    `Attribution`, `Experiment` and `Corpus` say which facts each kind must have; a `Piece` is
    checked when it is registered.
    """

    uses: tuple[str, ...] = None  # type: ignore[assignment]  # refused by the registry
    signed: bool = False
    measures: Mapping[str, Measure] = field(default_factory=dict)
    kind: str = "single"
    licence: str = ""
    prepare: Any = None
    higher_is_better: bool | None = None
    stranger = Entry.plugin_facts
    """Its name in version 0.1."""


Made = TypeVar("Made", bound=Callable[..., Any])


class Entries(dict[str, Any]):
    """The entries of one module, all of a `kind`, for a registry's `module:ENTRIES`. Each is
    declared above the function or class that makes it."""

    def __init__(self, kind: type[Entry]) -> None:
        super().__init__()
        self.kind = kind

    def entry(self, says: str | Measure, name: str = "", **facts: Any) -> Callable[[Made], Made]:
        """An entry that says what it is, or how the one number that it gives is read. Its name is
        the function's, unless another is given."""
        if isinstance(says, Measure):
            facts |= {fact: getattr(says, fact) for fact in _READING}
            says = says.description

        def enter(make: Made) -> Made:
            own = name or make.__name__
            self[own] = self.kind(own, says, make, **facts)
            return make

        return enter


_READING = ("higher_is_better", "signed", "range")


def by_name(*entries: Entry) -> dict[str, Any]:
    """Several entries of one module, for a registry's `module:ENTRIES`."""
    return {entry.name: entry for entry in entries}


def figure(*needs: str, paper: str = "") -> Callable[[Callable[..., Any]], ReportFigure]:
    """A figure that bears the name of the function that draws it; the docstring says what it is."""

    def entry(make: Callable[..., Any]) -> ReportFigure:
        return ReportFigure(make.__name__, make.__doc__ or "", make, paper=paper, needs=needs)

    return entry
