"""How fast this machine works on each shape of a grid: a few steps, timed once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from heedful.data import Prepared, Split
from heedful.experiments import PROBES, Evidence
from heedful.metrics import summarise
from heedful.models import build
from heedful.runner.fit import unfit
from heedful.runner.grid import Cell
from heedful.runner.machine import Machine
from heedful.runner.probe import compared
from heedful.runner.recipe import Recipe
from heedful.runner.train import typical, untrained
from heedful.specs import ProbeSpec
from heedful.store import Run, canonical
from heedful.training import Objective, train

SAMPLE = 64
_WARM = 2
_FEW = 4


@dataclass
class Paces:
    """Seeds do not change a shape, so a grid of a hundred seeds is timed once."""

    machine: Machine
    trained: dict[str, tuple[float, float]] = field(default_factory=dict)
    probed: dict[str, float] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)

    def training(self, corpus: Run, cell: Cell, recipe: Recipe) -> float:
        """Models of other roles are taken to be as fast as the cell's own."""
        shape = canonical({"c": corpus.key, "m": cell.model, "b": cell.train.batch_size})
        if shape not in self.trained:
            self.trained[shape] = train_seconds(corpus, cell, self.machine)
        setup, epoch = self.trained[shape]
        return setup + epoch * recipe.train.epochs

    def probing(self, corpus: Run, cell: Cell, probes: Sequence[ProbeSpec]) -> float:
        shape = canonical({"c": corpus.key, "m": cell.model, "p": list(probes)})
        if shape not in self.probed:
            evidence = untrained(corpus, cell.model, self.machine, SAMPLE)
            texts = len(Prepared(corpus).split("test"))
            fitting = [probe for probe in probes if unfit(probe.name, evidence) is None]
            self._warm_up(cell, fitting, evidence)
            spent = (_extrapolated(cell, probe, evidence, texts) for probe in fitting)
            self.probed[shape] = sum(spent, start=0.0)
        return self.probed[shape]

    def _warm_up(self, cell: Cell, probes: Sequence[ProbeSpec], evidence: Evidence) -> None:
        """What a probe imports when it is first called is no part of its pace."""
        for probe in probes:
            if probe.name not in self.warm:
                _probing(cell, probe, _first(evidence, min(_FEW, len(evidence.data))))
                self.warm.add(probe.name)


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
    each = max(0.0, long - short) / (many - few)
    return long + each * (texts - many)


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
