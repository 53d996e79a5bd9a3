"""Many runs at once: jobs to an engine, and then the lists of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from heedful.errors import unknown_name
from heedful.runner.engines.board import Failure, Watch, unwatched
from heedful.runner.engines.crew import Crew
from heedful.runner.grid import Grid
from heedful.runner.jobs import Job, probes_name
from heedful.runner.machine import Machine
from heedful.runner.study import run_study
from heedful.store import Run, Store

HERE = "here"
ENGINES = (HERE, "local", "ray")


@dataclass(frozen=True)
class Engine:
    """One of the engines by name, with its workers."""

    name: str
    crew: Crew

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown_name("engine", self.name, list(ENGINES))


def run_jobs(
    jobs: Iterable[Job], store: Store, machine: Machine, engine: Engine, watch: Watch = unwatched
) -> list[Failure]:
    """Whatever is not in the store yet, done; what could not be, with the reason."""
    module = import_module(f"heedful.runner.engines.{engine.name}")
    there = replace(machine, threads=engine.crew.threads)
    where = machine if engine.name == HERE else there
    place = store.place if isinstance(store.place, str) else store.place.absolute()
    failures: list[Failure] = module.run(jobs, place, where, watch, engine.crew)
    return failures


def list_studies(
    plans: Sequence[Grid],
    failures: Sequence[Failure],
    store: Store,
    machine: Machine,
    announce: Callable[[str], None] = lambda line: None,
) -> list[Run]:
    """The list of every study of which something is there; what failed is in it as left out."""
    runs = []
    for plan in (with_failures(plan, failures) for plan in plans):
        if plan.hopeless:
            announce(f"the study {plan.study.name} has no list: none of its cells was done")
        else:
            runs.append(run_study(plan, store, machine))
    return runs


def with_failures(plan: Grid, failures: Sequence[Failure]) -> Grid:
    """The plan, knowing which of its cells were not done and why."""
    lost = {failure.job.name: failure.reason for failure in failures}
    named = {cell.name: probes_name(cell, plan.precision) for cell in plan.cells}
    return replace(plan, failed={cell: lost[name] for cell, name in named.items() if name in lost})


def makespan(jobs: Iterable[Job], workers: int) -> float:
    """About how long so many workers will need, each taking the first job that is ready."""
    waiting, ends = [job for job in jobs if not job.done], dict[str, float]()
    free = [0.0] * workers
    for job in waiting:  # in their order, needs come first
        free.sort()
        begin = max([free[0], *(ends.get(name, 0.0) for name in job.needs)])
        free[0] = ends[job.name] = begin + job.cost
    return max([0.0, *ends.values()])
