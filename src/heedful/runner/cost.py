"""What a grid will cost, from a few timed steps on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heedful.corpora import Prepared
from heedful.experiments import Evidence
from heedful.runner.grid import Cell, Grid
from heedful.runner.machine import Machine
from heedful.runner.pace import SAMPLE, probe_seconds, train_seconds
from heedful.runner.probe import Reading, compared, has_probe
from heedful.runner.recipe import Recipe
from heedful.runner.train import model_key
from heedful.runner.untrained import untrained
from heedful.specs import ProbeSpec
from heedful.store import Run, Store


@dataclass(frozen=True)
class Cost:
    """Seconds of one cell that are still to be spent; 0 where the store has the run."""

    title: str
    train_seconds: float
    probe_seconds: float


def estimate(plan: Grid, cell: Cell, store: Store, machine: Machine) -> Cost:
    """Time one small epoch and the probes on a sample of typical length, and extrapolate."""
    corpus = plan.corpus(cell, store)
    evidence = untrained(corpus, cell.model, machine, SAMPLE)
    wanted = [_wanted(cell, probe, evidence) for probe in cell.probes]
    models = dict.fromkeys([cell.recipe, *(each for some in wanted for each in some.values())])
    keys = {recipe: model_key(corpus, recipe) for recipe in models}
    runs = {recipe: store.open(key) for recipe, key in keys.items() if store.has(key)}
    reading = Reading(cell.seed, precision=plan.precision)
    asked = zip(cell.probes, wanted, strict=True)
    missing = [probe for probe, some in asked if not _has(store, runs, some, probe, reading)]
    epochs = sum(recipe.train.epochs for recipe in models if recipe not in runs)
    setup, epoch = train_seconds(corpus, cell, machine) if epochs else (0.0, 0.0)
    training = (len(models) - len(runs)) * setup + epochs * epoch
    tests = len(Prepared(corpus).split("test"))
    return Cost(cell.title, training, probe_seconds(cell, missing, evidence, tests))


def _wanted(cell: Cell, probe: ProbeSpec, evidence: Evidence) -> Mapping[str, Recipe]:
    """The cell's own model and those a probe compares it with."""
    return {"base": cell.recipe, **compared(cell.recipe, probe, evidence)}


def _has(
    store: Store,
    runs: Mapping[Recipe, Run],
    wanted: Mapping[str, Recipe],
    probe: ProbeSpec,
    reading: Reading,
) -> bool:
    if any(recipe not in runs for recipe in wanted.values()):
        return False
    return has_probe(store, {role: runs[each] for role, each in wanted.items()}, probe, reading)
