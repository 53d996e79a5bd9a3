"""What a grid will cost, from a few timed steps on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from heedful.corpora.prepared import Prepared
from heedful.corpora.split import Split
from heedful.corpora.steps import at_a_quarter
from heedful.models.build import build
from heedful.probes import PROBES
from heedful.probes.evidence import Evidence
from heedful.runner.fit import unfit
from heedful.runner.machine import Machine
from heedful.runner.probe import Reading, compared, probe_facts
from heedful.runner.recipe import Recipe
from heedful.runner.study import Cell, Grid
from heedful.runner.train import model_key
from heedful.specs import ProbeSpec
from heedful.store import Run, Store, run_key
from heedful.training.aim import Aim
from heedful.training.loop import train

_SAMPLE = 64
_WARM = 2


@dataclass(frozen=True)
class Cost:
    """Seconds of one cell that are still to be spent; 0 where the store has the run."""

    title: str
    train_seconds: float
    probe_seconds: float


def estimate(plan: Grid, cell: Cell, store: Store, machine: Machine) -> Cost:
    """Time one small epoch and the probes on a sample of typical length, and extrapolate."""
    corpus = plan.corpus(cell, store)
    evidence = _evidence(corpus, cell, machine)
    wanted = [_wanted(cell, probe, evidence) for probe in cell.probes]
    models = dict.fromkeys([cell.recipe, *(each for some in wanted for each in some.values())])
    keys = {recipe: model_key(corpus, recipe) for recipe in models}
    runs = {recipe: store.open(key) for recipe, key in keys.items() if store.has(key)}
    reading = Reading(cell.seed, precision=plan.precision)
    asked = zip(cell.probes, wanted, strict=True)
    missing = [probe for probe, some in asked if not _has(store, probe, reading, runs, some)]
    epochs = sum(recipe.train.epochs for recipe in models if recipe not in runs)
    setup, epoch = _train_seconds(corpus, cell, machine) if epochs else (0.0, 0.0)
    train_seconds = (len(models) - len(runs)) * setup + epochs * epoch
    tests = len(Prepared(corpus).split("test"))
    probe_seconds = _probe_seconds(cell, missing, evidence, tests)
    return Cost(cell.title, train_seconds, probe_seconds)


def _wanted(cell: Cell, probe: ProbeSpec, evidence: Evidence) -> Mapping[str, Recipe]:
    """The cell's own model and those a probe compares it with."""
    return {"base": cell.recipe, **compared(cell.recipe, probe, evidence)}


def _has(
    store: Store,
    probe: ProbeSpec,
    reading: Reading,
    runs: Mapping[Recipe, Run],
    wanted: Mapping[str, Recipe],
) -> bool:
    if any(recipe not in runs for recipe in wanted.values()):
        return False
    others = {role: runs[recipe] for role, recipe in wanted.items()}
    return store.has(run_key("probe", probe_facts(others.pop("base"), probe, reading, others)))


def _train_seconds(corpus: Run, cell: Cell, machine: Machine) -> tuple[float, float]:
    """To begin, and of an epoch; models of other roles are taken to be as fast."""
    prepared = Prepared(corpus)
    sample = _Sampled(prepared, cell.train.batch_size * 4)
    model = build(cell.model, prepared.vectors, prepared.classes, 0)
    started = time.perf_counter()
    short = replace(cell.train, epochs=_WARM)
    aim = Aim(terms=cell.model.terms)
    history = train(model, sample, short, 0, machine.device, aim=aim).history
    setup = time.perf_counter() - started - history["seconds"].sum()
    share = len(prepared.split("train")) / len(sample.split("train"))
    return setup, float(history["seconds"].iloc[-1]) * share


def _evidence(corpus: Run, cell: Cell, machine: Machine) -> Evidence:
    """A sample of the test split, and a model that has learned nothing."""
    prepared = Prepared(corpus)
    sample = _typical(prepared.split("test"), _SAMPLE)
    model = build(cell.model, prepared.vectors, prepared.classes, 0).to(machine.device).eval()
    return Evidence(
        {"base": model},
        at_a_quarter(sample) if prepared.task == "generation" else sample,
        0,
        machine.device,
        machine.batch_size,
        task=prepared.task,
        whole=sample,
        words=prepared.words,
        training=_typical(prepared.split("train"), _SAMPLE),
    )


def _probe_seconds(cell: Cell, probes: list[ProbeSpec], evidence: Evidence, texts: int) -> float:
    model, total = evidence.models["base"], 0.0
    for probe in probes:
        if unfit(probe.name, evidence) is None:
            others = dict.fromkeys(compared(cell.recipe, probe, evidence), model)
            started = time.perf_counter()
            seen = replace(evidence, models={**others, "base": model})
            PROBES[probe.name].make(seen, **probe.params)
            total += time.perf_counter() - started
    return total * max(1.0, texts / len(evidence.data))


class _Sampled:
    """A prepared corpus of which only a few examples of typical length are seen."""

    def __init__(self, corpus: Prepared, count: int) -> None:
        self.task, self.classes = corpus.task, corpus.classes
        self.words, self.vectors = corpus.words, corpus.vectors
        self._splits = {name: _typical(corpus.split(name), count) for name in ("train", "dev")}

    def split(self, name: str) -> Split:
        return self._splits[name]


def _typical(split: Split, count: int) -> Split:
    """Evenly spaced over the lengths, so that the sample's mean length is the corpus's."""
    order = split.lengths.argsort(kind="stable")
    step = max(1, len(order) // count)
    return split.subset(order[::step][:count])
