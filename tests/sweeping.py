"""Small grids for tests of engines, and what must be the same whatever engine ran them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from heedful.data import default_spec
from heedful.runner import (
    Engine,
    Event,
    Failure,
    Grid,
    Job,
    Machine,
    WorkerPool,
    grid,
    jobs,
    run_jobs,
)
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store
from heedful.studies.papers import JAIN2019 as STUDY

HERE = Machine(threads=1)
# Not importorskip: who imports Ray first decides where it listens.
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="pip install 'heedful[scale]'")
SIZE = {"n_train": 60, "n_dev": 20, "n_test": 12}
PROBES = (ProbeSpec("reachability"), ProbeSpec("permutation"))
MODELS = tuple(ModelSpec(encoder, "additive", hidden=8) for encoder in ("average", "lstm", "cnn"))


def small_plan(
    models: tuple[ModelSpec, ...] = MODELS,
    probes: tuple[ProbeSpec, ...] = PROBES,
    epochs: int = 1,
    seeds: Iterable[int] = (0, 1),
) -> Grid:
    setting = replace(
        STUDY.settings[0], models=models, probes=probes, train=TrainSpec(epochs=epochs)
    )
    study = replace(STUDY, settings=(setting,))
    return grid(study, [default_spec("planted", params=SIZE)], seeds=list(seeds))


def planned(plan: Grid, place: Path | Store) -> list[Job]:
    store = place if isinstance(place, Store) else Store(place)
    return jobs([plan], store, HERE, timed=False)


def swept(plan: Grid, place: Path, engine: str, workers: int = 2) -> list[Failure]:
    """What failed; the store has the rest."""
    hired = Engine(engine, WorkerPool(workers))
    return run_jobs(planned(plan, place), Store(place), HERE, hired)


def results(place: Path) -> dict[str, str]:
    """The digests of every run's rows, summaries and maps."""
    names = ("rows.parquet", "summary.parquet", "maps.parquet")
    return {
        f"{run.key}/{name}": run.record.files[name]
        for run in Store(place).runs("probe")
        for name in names
        if run.has(name)
    }


class Watcher:
    """Remembers what happened."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def names(self, what: str) -> list[str]:
        return [event.job.name for event in self.events if event.what == what]
