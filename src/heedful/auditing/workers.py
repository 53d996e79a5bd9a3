"""Batches of an audit as jobs for several processes or machines.

A worker opens the model and the data again, by their names, and leaves what it has measured of a
batch in the folder from which the audit is put together. So a lost worker costs its batch, and an
audit that was stopped goes on with any number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from heedful.auditing.options import Running
from heedful.auditing.schedule import Plan
from heedful.auditing.spec import AuditSpec
from heedful.auditing.tables import has_part
from heedful.auditing.trial import Indices, Trial
from heedful.data import CORPORA
from heedful.errors import HeedfulError
from heedful.runner import Engine, EngineRequest, Event, Job, Machine, run_jobs, set_up
from heedful.store import PartGone, Place, Run, Store, url_of
from heedful.targets import Reading, open_target, source_of


@dataclass(frozen=True)
class Reopening:
    """An audit as another process opens it: by names, since a model in memory cannot be sent."""

    model: str
    data: str | None
    spec: AuditSpec
    must: frozenset[str]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class BatchWork:
    """Measures the examples at these places of the data, for the audit of this key."""

    reopening: bytes
    key: str
    folder: Path
    places: tuple[int, ...]

    def __call__(self, place: Place, machine: Machine) -> None:
        if not self.folder.is_dir():
            raise HeedfulError(
                f"this worker cannot see the folder {self.folder}: use a store that all machines "
                f"share."
            )
        set_up(machine)
        trial, _ = _opened(self.reopening, place, machine.device)
        if trial.key != self.key:
            raise HeedfulError(
                "a worker reads another model or other texts than this process: all machines must "
                "see the same files, and the same version of their libraries."
            )
        trial.measured(self.folder, np.array(self.places, dtype=np.int64))


@lru_cache(maxsize=1)
def _opened(reopening: bytes, place: Place, device: str) -> tuple[Trial, ExitStack]:
    """Kept open from one batch to the next, until the worker ends or is given another audit: as
    long as the stack is held, since a model that is lent is given back with it."""
    asked, stack = pickle.loads(reopening), ExitStack()
    options = {**asked.options, "device": device, "store": place}
    subject = stack.enter_context(open_target(asked.model, asked.data, **options))
    return Trial(subject, asked.spec, Plan(must=asked.must)), stack


@dataclass(frozen=True)
class Workers:
    """Who measures: an engine, and how each of its workers opens the audit."""

    asked: EngineRequest
    machine: Machine
    store: Store
    reopening: bytes = field(repr=False)

    @cached_property
    def engine(self) -> Engine:
        """Chosen when the model is open here: a worker will need as much memory as this process."""
        return self.asked.chosen(self.machine.device)

    @property
    def count(self) -> int:
        return self.engine.pool.workers

    def measure(self, trial: Trial, folder: Path, some: Sequence[Indices]) -> None:
        """All these batches but for those that are in the folder already; `PartGone` where another
        process finished the audit meanwhile, and cleaned the folder away."""
        folder, jobs = folder.absolute(), list[Job]()
        for indices in some:
            name = trial.part_name(indices)
            places = tuple(indices.tolist())
            work = BatchWork(self.reopening, trial.key, folder, places)
            title = f"{len(places)} examples"
            jobs.append(Job("audit", name, title, work, done=has_part(folder, name)))
        sizes = {job.name: len(indices) for job, indices in zip(jobs, some, strict=True)}
        measured, total = sum(sizes[job.name] for job in jobs if job.done), len(trial.subject)

        def watch(event: Event) -> None:
            nonlocal measured
            if event.what == "finished":
                measured += sizes[event.job.name]
                trial.plan.progress("audit", measured, total)

        failures = run_jobs(jobs, self.store, self.machine, self.engine, watch)
        if failures and self.store.has(trial.key):
            raise PartGone("another process finished the same audit: run the command again.")
        if failures:
            raise HeedfulError(
                f"{len(failures)} of {len(jobs)} batches were not measured "
                f"({failures[0].reason}): what was measured is kept. Fix this and run it again."
            )


def workers_of(
    running: Running,
    model: Any,
    data: Any,
    plan: tuple[AuditSpec, Plan],
    options: Mapping[str, Any],
) -> Workers | None:
    """None without an engine. What no other process can open is refused."""
    asked, (spec, how) = running.asked(options.get("device", "auto")), plan
    store = how.opened
    if asked.address is not None and store is not None and url_of(store.place):
        raise HeedfulError(
            f"workers of a cluster need a folder that all machines see, and {store.place} is a "
            f"URL: give such a folder as --store."
        )
    asked.check()
    if asked.engine is None:
        return None
    if store is None:
        raise HeedfulError(
            "workers leave what they measure in a store: name one (store='heedful-store')."
        )
    if not isinstance(model, (str, Path, Run)):
        raise _in_memory("model", "a folder, a hub id or a run")
    if not isinstance(data, (str, Path, type(None))):
        raise _in_memory("table", "a file or the name of a corpus")
    if options.get("words") is not None:
        raise _in_memory("function for words", "another unit")
    known = {name: value for name, value in options.items() if name not in ("device", "store")}
    if known.get("data_dir") is not None:
        known["data_dir"] = Path(known["data_dir"]).resolve()  # nodes have folders of their own
    read_from = Reading(store=options.get("store")).opened or store
    source = model.path if isinstance(model, Run) else source_of(model, read_from)
    reopening = Reopening(str(source), _absolute(data), spec, how.must, known)
    where = asked.machine()
    return Workers(asked, where, store, pickle.dumps(reopening))


def _absolute(data: str | Path | None) -> str | None:
    """The same file from any folder; names of corpora stay, whatever has the same name here."""
    if data is None or (isinstance(data, str) and data in CORPORA and data != "file"):
        return data
    path = Path(data).expanduser()
    return str(path.resolve()) if path.exists() else str(data)


def _in_memory(what: str, instead: str) -> HeedfulError:
    return HeedfulError(
        f"each worker opens everything itself and cannot get a {what} in memory: give {instead}, "
        f"or leave the engine out."
    )
