"""Jobs: what one worker does in one go. Those of studies train and probe, from the store into the
store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from heedful.data import SPLITS, MissingData, Prepared, Split
from heedful.errors import HeedfulError
from heedful.experiments import PROBES, Evidence
from heedful.metrics import summarise
from heedful.models import build
from heedful.progress import seconds_each
from heedful.runner.grid import Cell, Grid, check_terms
from heedful.runner.machine import Machine, machine
from heedful.runner.masking import magnitudes
from heedful.runner.probe import Reading, compared, has_probe, probed, unfit
from heedful.runner.train import Masking, Recipe, claimed, model_key, trained, typical, untrained
from heedful.specs import ProbeSpec
from heedful.store import Place, Run, Store, canonical, run_key, store_at
from heedful.training import Objective, train


class Work(Protocol):
    """What a worker is sent to do; its results travel through the store at this place alone."""

    def __call__(self, place: Place, machine: Machine) -> None: ...


@dataclass(frozen=True)
class Job:
    """What one worker does in one go. `name` is what it leaves: a run, or a hash of several; it
    may begin once all that it `needs` is done. `cost` is in seconds, of what is not `done` yet:
    that has no `work`."""

    kind: str
    name: str
    title: str
    work: Work | None = None
    needs: tuple[str, ...] = ()
    cost: float = 0.0
    done: bool = False


@dataclass(frozen=True)
class TrainingWork:
    """Trains a model on a corpus of the store."""

    corpus: str
    recipe: Recipe

    def __call__(self, place: Place, machine: Machine) -> None:
        store = shared_store(place)
        trained(store, store.open(self.corpus), self.recipe, set_up(machine))


@dataclass(frozen=True)
class ProbingWork:
    """Runs the probes of a cell on its models."""

    corpus: str
    cell: Cell
    precision: str

    def __call__(self, place: Place, machine: Machine) -> None:
        store, where = shared_store(place), set_up(machine)
        corpus = store.open(self.corpus)

        def run_of(recipe: Recipe) -> Run:
            return trained(store, corpus, recipe, where)

        base, reading = self.cell.recipe, Reading(self.cell.seed, precision=self.precision)
        with claimed(store, probes_name(self.cell, self.precision)):
            for _ in probed(store, base, self.cell.probes, reading, where, run_of):
                pass  # each is in the store now


def set_up(wanted: Machine) -> Machine:
    """The machine that a worker is told to use, chosen and set up where the worker is."""
    return machine(wanted.device, wanted.threads, wanted.batch_size)


def shared_store(place: Place) -> Store:
    """The store that a worker shares with whoever sent it."""
    store = store_at(place)
    if isinstance(store.place, Path) and not (store.place / "runs").is_dir():
        raise HeedfulError(
            f"the store {store.place} is not to be seen by this worker: it must be a folder that "
            f"all machines share, or a URL."
        )
    return store


def jobs(
    plans: Iterable[Grid],
    store: Store,
    machine: Machine,
    timed: bool = True,
    announce: Callable[[str], None] = lambda line: None,
) -> list[Job]:
    """Cell by cell, so that what is stopped has whole cells: its corpus, which is prepared now,
    its models, teachers first, and its probes. What several cells need is there once."""
    planner = _Planner(store, Paces(machine) if timed else None)
    for plan in plans:
        check_terms(plan, store)
        for cell in plan.cells:
            try:
                corpus = plan.corpus(cell, store)
            except MissingData as missing:
                if not plan.lenient:
                    raise
                announce(f"{cell.title} is left out: {missing}")
                continue
            planner.add(plan, cell, corpus)
    return list(planner.found.values())


@dataclass(frozen=True)
class Cost:
    """Seconds of one cell that are still to be spent; 0 where the store has the run."""

    title: str
    train_seconds: float
    probe_seconds: float


def estimate(plan: Grid, cell: Cell, store: Store, machine: Machine) -> Cost:
    """Time one small epoch and the probes on a sample of typical length, and extrapolate."""
    planner = _Planner(store, Paces(machine))
    planner.add(plan, cell, plan.corpus(cell, store))
    spent = dict.fromkeys(("model", "probes", "corpus"), 0.0)
    for job in planner.found.values():
        spent[job.kind] += job.cost
    return Cost(cell.title, spent["model"], spent["probes"])


def probes_name(cell: Cell, precision: str) -> str:
    """Names the probes of a cell, whatever machine and study it is on."""
    return run_key("probes", {"cell": cell.name, "precision": precision})


@dataclass
class _Planner:
    store: Store
    paces: Paces | None
    found: dict[str, Job] = field(default_factory=dict)
    shapes: dict[str, Evidence] = field(default_factory=dict)

    def add(self, plan: Grid, cell: Cell, corpus: Run) -> None:
        """A cell's corpus, its model and those it is compared with, and its probes."""
        if probes_name(cell, plan.precision) in self.found:
            return
        title = f"{cell.corpus.title} prepared"
        self.found.setdefault(corpus.key, Job("corpus", corpus.key, title, done=True))
        evidence = self._evidence(cell, corpus)
        fitting = [
            (probe, compared(cell.recipe, probe, evidence))
            for probe in cell.probes
            if unfit(probe.name, evidence) is None
        ]
        roles = [recipe for _, others in fitting for recipe in others.values()]
        models = _in_order([cell.recipe, *roles])
        for recipe in models:
            self._add_model(cell, corpus, recipe)
        reading = Reading(cell.seed, precision=plan.precision)
        missing = [
            probe
            for probe, others in fitting
            if self._lacks(probe, {**others, "base": cell.recipe}, corpus, reading)
        ]
        self._add_probes(plan, cell, corpus, missing, models)

    def _add_model(self, cell: Cell, corpus: Run, recipe: Recipe) -> None:
        key = model_key(corpus, recipe)
        if key in self.found:
            return
        done = self.store.has(key)
        cost = 0.0 if done or self.paces is None else self.paces.training(corpus, cell, recipe)
        before = [model_key(corpus, other) for other in recipe.before.values()]
        title = f"{cell.corpus.title} {recipe.title}"
        work = None if done else TrainingWork(corpus.key, recipe)
        self.found[key] = Job("model", key, title, work, (corpus.key, *before), cost, done)

    def _add_probes(
        self, plan: Grid, cell: Cell, corpus: Run, missing: list[ProbeSpec], models: list[Recipe]
    ) -> None:
        name = probes_name(cell, plan.precision)
        cost = self.paces.probing(corpus, cell, missing) if missing and self.paces else 0.0
        needs = tuple(model_key(corpus, recipe) for recipe in models)
        work = ProbingWork(corpus.key, cell, plan.precision) if missing else None
        title = f"{cell.title}, probes"
        self.found[name] = Job("probes", name, title, work, needs, cost, done=not missing)

    def _lacks(
        self, probe: ProbeSpec, recipes: Mapping[str, Recipe], corpus: Run, reading: Reading
    ) -> bool:
        """Whether the store has no run of this probe on the models of these recipes."""
        keys = {role: model_key(corpus, recipe) for role, recipe in recipes.items()}
        if not all(self.found[key].done for key in keys.values()):
            return True
        runs = {role: self.store.open(key) for role, key in keys.items()}
        return not has_probe(self.store, runs, probe, reading)

    def _evidence(self, cell: Cell, corpus: Run) -> Evidence:
        """Only the latest is kept: cells of one model follow each other, seed by seed."""
        shape = canonical({"corpus": corpus.key, "model": cell.model})
        if shape not in self.shapes:
            self.shapes.clear()
            self.shapes[shape] = untrained(corpus, cell.model)
        return self.shapes[shape]


def _in_order(recipes: Iterable[Recipe]) -> list[Recipe]:
    """Each once, after those that it needs."""
    ordered: dict[Recipe, None] = {}
    for recipe in recipes:
        ordered.update(dict.fromkeys([*_in_order(recipe.before.values()), recipe]))
    return list(ordered)


# How fast this machine works on each shape of a grid: a few steps, timed once.

SAMPLE = 64
_WARM = 2
_FEW = 4


@dataclass
class Paces:
    """Seeds do not change a shape, so a grid of a hundred seeds is timed once."""

    machine: Machine
    trained: dict[str, tuple[float, float]] = field(default_factory=dict)
    explained: dict[str, float] = field(default_factory=dict)
    probed: dict[str, float] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)

    def training(self, corpus: Run, cell: Cell, recipe: Recipe) -> float:
        """Models of other roles are taken to be as fast as the cell's own. Where words are masked,
        every text is explained first."""
        shape = canonical({"c": corpus.key, "m": cell.model, "b": cell.train.batch_size})
        if shape not in self.trained:
            self.trained[shape] = train_seconds(corpus, cell, self.machine)
        setup, epoch = self.trained[shape]
        explaining = self.explaining(corpus, cell, recipe.masking) if recipe.masking else 0.0
        return setup + epoch * recipe.train.epochs + explaining

    def explaining(self, corpus: Run, cell: Cell, masking: Masking) -> float:
        """Of every text of the corpus."""
        shape = canonical({"c": corpus.key, "m": cell.model, "e": masking.explanation})
        if shape not in self.explained:
            data = Prepared(corpus)
            evidence = untrained(corpus, cell.model, self.machine, SAMPLE)
            few = _first(evidence, min(_FEW, len(evidence.data)))
            for seen in (few, evidence):  # what it imports is no part of its pace
                started = time.perf_counter()
                for _, batch in seen.batches(seen.data):
                    magnitudes(seen.models["base"], batch, masking.explanation)
                spent = time.perf_counter() - started
            texts = sum(len(data.split(name)) for name in SPLITS)
            self.explained[shape] = spent * texts / len(evidence.data)
        return self.explained[shape]

    def probing(self, corpus: Run, cell: Cell, probes: Sequence[ProbeSpec]) -> float:
        shape = canonical({"c": corpus.key, "m": cell.model, "p": list(probes)})
        if shape not in self.probed:
            evidence = untrained(corpus, cell.model, self.machine, SAMPLE)
            texts = len(Prepared(corpus).split("test"))
            fitting = [probe for probe in probes if unfit(probe.name, evidence) is None]
            for probe in fitting:  # what it imports when it is first called is no part of its pace
                if probe.name not in self.warm:
                    _probing(cell, probe, _first(evidence, min(_FEW, len(evidence.data))))
                    self.warm.add(probe.name)
            spent = (_extrapolated(cell, probe, evidence, texts) for probe in fitting)
            self.probed[shape] = sum(spent, start=0.0)
        return self.probed[shape]


def train_seconds(corpus: Run, cell: Cell, machine: Machine) -> tuple[float, float]:
    """To begin, and of an epoch; models of other roles are taken to be as fast."""
    prepared = Prepared(corpus)
    sample = _Sampled(prepared, cell.train.batch_size * 4)
    model = build(cell.model, prepared.vectors, prepared.classes, 0)
    started = time.perf_counter()
    short = replace(cell.train, epochs=_WARM)
    objective = Objective(terms=cell.model.terms)
    history = train(model, sample, short, 0, machine.device, objective=objective).history
    setup = time.perf_counter() - started - history["seconds"].sum()
    share = len(prepared.split("train")) / len(sample.split("train"))
    return setup, float(history["seconds"].iloc[-1]) * share


def _extrapolated(cell: Cell, probe: ProbeSpec, evidence: Evidence, texts: int) -> float:
    """Timed on a few texts and on more of them: what both cost alike is not multiplied."""
    many = len(evidence.data)
    few = max(1, many // 4)
    if texts <= many or few == many:
        return _probing(cell, probe, evidence)
    short = _probing(cell, probe, _first(evidence, few))
    long = _probing(cell, probe, evidence)
    return long + seconds_each((few, short), (many, long)) * (texts - many)


def _probing(cell: Cell, probe: ProbeSpec, evidence: Evidence) -> float:
    model, started = evidence.models["base"], time.perf_counter()
    others = dict.fromkeys(compared(cell.recipe, probe, evidence), model)
    seen = replace(evidence, models={**others, "base": model})
    findings = PROBES[probe.name].make(seen, **probe.params)
    if findings.summary is None:
        summarise(findings.rows, 0)
    return time.perf_counter() - started


def _first(evidence: Evidence, count: int) -> Evidence:
    """Fewer texts of the same lengths on the whole, and none seen before."""
    step = len(evidence.data) // count
    index = np.arange(len(evidence.data))[::step][:count]
    whole = None if evidence.whole is None else evidence.whole.subset(index)
    return replace(evidence, data=evidence.data.subset(index), whole=whole, _passes=[])


class _Sampled:
    """A prepared corpus of which only a few examples of typical length are seen."""

    def __init__(self, corpus: Prepared, count: int) -> None:
        self.task, self.classes = corpus.task, corpus.classes
        self.words, self.vectors = corpus.words, corpus.vectors
        self._splits = {name: typical(corpus.split(name), count) for name in ("train", "dev")}

    def split(self, name: str) -> Split:
        return self._splits[name]
