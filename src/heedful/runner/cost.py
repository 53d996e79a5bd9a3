"""What a grid will cost, from a few timed steps on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from heedful.corpora.prepared import Prepared
from heedful.corpora.split import Split
from heedful.corpora.steps import at_a_quarter
from heedful.models.build import build
from heedful.probes import PROBES
from heedful.probes.evidence import Evidence
from heedful.runner.fit import unfit
from heedful.runner.machine import Machine
from heedful.runner.probe import Reading, probe_facts
from heedful.runner.study import Cell, Grid
from heedful.runner.train import model_facts
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, run_key
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
    models = dict.fromkeys(_models(cell))
    keys = {
        model: run_key("model", model_facts(corpus, model, cell.train, cell.seed))
        for model in models
    }
    runs = {model: store.open(key) for model, key in keys.items() if store.has(key)}
    reading = Reading(cell.seed, precision=plan.precision)
    missing = [each for each in cell.probes if not _has(store, cell, each, reading, runs)]
    untrained = len(models) - len(runs)
    once = _train_seconds(corpus, cell, cell.train, machine) if untrained else 0.0
    train_seconds = untrained * once
    probe_seconds = _probe_seconds(corpus, cell, [p.name for p in missing], machine)
    return Cost(cell.title, train_seconds, probe_seconds)


def _models(cell: Cell) -> Iterator[ModelSpec]:
    """The cell's own and those its probes compare it with."""
    yield cell.model
    for probe in cell.probes:
        for changes in PROBES[probe.name].roles.values():
            yield replace(cell.model, **changes)


def _has(
    store: Store, cell: Cell, probe: ProbeSpec, reading: Reading, runs: Mapping[ModelSpec, Run]
) -> bool:
    roles = PROBES[probe.name].roles
    wanted = {role: replace(cell.model, **changes) for role, changes in roles.items()}
    if cell.model not in runs or any(model not in runs for model in wanted.values()):
        return False
    others = {role: runs[model] for role, model in wanted.items()}
    return store.has(run_key("probe", probe_facts(runs[cell.model], probe, reading, others)))


def _train_seconds(corpus: Run, cell: Cell, spec: TrainSpec, machine: Machine) -> float:
    prepared = Prepared(corpus)
    sample = _Sampled(prepared, spec.batch_size * 4)
    model = build(cell.model, prepared.vectors, prepared.classes, 0)
    epochs = replace(spec, epochs=_WARM)
    started = time.perf_counter()
    history = train(model, sample, epochs, 0, machine.device).history
    setup = time.perf_counter() - started - history["seconds"].sum()
    epoch = float(history["seconds"].iloc[-1])
    return setup + epoch * spec.epochs * len(prepared.split("train")) / len(sample.split("train"))


def _probe_seconds(corpus: Run, cell: Cell, names: list[str], machine: Machine) -> float:
    prepared = Prepared(corpus)
    test = prepared.split("test")
    sample = _typical(test, _SAMPLE)
    model = build(cell.model, prepared.vectors, prepared.classes, 0).to(machine.device).eval()
    evidence = Evidence(
        {"base": model},
        at_a_quarter(sample) if prepared.task == "generation" else sample,
        0,
        machine.device,
        machine.batch_size,
        task=prepared.task,
        whole=sample,
        words=prepared.words,
    )
    total = 0.0
    for name in names:
        if unfit(name, evidence) is None:
            started = time.perf_counter()
            PROBES[name].make(evidence)
            total += time.perf_counter() - started
    return total * max(1.0, len(test) / len(sample))


class _Sampled:
    """A prepared corpus of which only a few examples of typical length are seen."""

    def __init__(self, corpus: Prepared, count: int) -> None:
        self.task, self.classes = corpus.task, corpus.classes
        self._splits = {name: _typical(corpus.split(name), count) for name in ("train", "dev")}

    def split(self, name: str) -> Split:
        return self._splits[name]


def _typical(split: Split, count: int) -> Split:
    """Evenly spaced over the lengths, so that the sample's mean length is the corpus's."""
    order = split.lengths.argsort(kind="stable")
    step = max(1, len(order) // count)
    return split.subset(order[::step][:count])
