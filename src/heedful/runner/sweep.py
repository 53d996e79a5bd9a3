"""Run studies: cell by cell here, or as jobs on an engine; then list what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from typing import Any

import pandas as pd
import torch

from heedful.data import MissingData
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import Progress, silent
from heedful.runner.grid import Cell, Grid, check_terms
from heedful.runner.jobs import Job, jobs, probes_name
from heedful.runner.machine import Machine, WorkerPool, cores, machine, worker_pool
from heedful.runner.probe import Reading, Skipped, probed
from heedful.runner.queue import Failure, JobQueue, Watch, unwatched
from heedful.runner.ray import check
from heedful.runner.train import Recipe, model_key, trained
from heedful.store import Place, Run, Store, run_key, store_at

PARTS = ["family", "encoder", "attention", "layers", "decoder"]
CELL_COLUMNS = ["corpus", "model", *PARTS, "seed", "probe", "run", "model_run", "corpus_run"]
Line = dict[str, Any]

HERE = "here"
ENGINES = {
    HERE: "heedful.runner.queue",
    "local": "heedful.runner.local",
    "ray": "heedful.runner.ray",
}
"""Where jobs run, by name: each module has a function `run(queue, place, machine, pool)`."""


def run_study(
    plan: Grid,
    store: Store | Place,
    machine: Machine,
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> Run:
    """Train and probe what is not in the store yet, then write the list of all cells."""
    store = store_at(store)
    check_terms(plan, store, progress)
    for cell in plan.cells:  # a missing corpus is told of before hours are spent on the others
        if not plan.lenient and cell.name not in plan.failed:
            plan.corpus(cell, store, progress)
    lines: list[Line] = []
    for number, cell in enumerate(plan.cells, 1):
        reason = _left_out(plan, cell, store, progress)
        told = f"[{number}/{len(plan.cells)}] {cell.title}"
        if reason is None:
            announce(told)
            lines += _run_cell(plan, cell, store, machine, progress)
        else:
            announce(f"{told} is left out: {reason}")
            lines += [_line(cell, probe.name, reason=reason) for probe in cell.probes]
    return _list(plan, store, lines)


def _left_out(plan: Grid, cell: Cell, store: Store, progress: Progress) -> str | None:
    """Why a cell is not run, or None."""
    if cell.name in plan.failed:
        return plan.failed[cell.name]
    try:
        plan.corpus(cell, store, progress)
    except MissingData as missing:  # of a lenient plan: others were refused at the start
        return str(missing)
    return None


def _run_cell(
    plan: Grid, cell: Cell, store: Store, machine: Machine, progress: Progress
) -> Iterator[Line]:
    corpus = plan.corpus(cell, store, progress)

    def run_of(recipe: Recipe) -> Run:
        return trained(store, corpus, recipe, machine, progress)

    model, base = model_key(corpus, cell.recipe), cell.recipe
    reading = Reading(cell.seed, precision=plan.precision)
    for probe, result in probed(store, base, cell.probes, reading, machine, run_of, progress):
        told = {"reason": result.reason} if isinstance(result, Skipped) else {"run": result.key}
        yield _line(cell, probe.name, **told, model_run=model, corpus_run=corpus.key)


def _line(cell: Cell, probe: str, **told: str) -> Line:
    """What became of a probe: its run, or the reason why there is none."""
    return {
        "corpus": cell.corpus.title,
        "model": cell.model.name,
        **{part: getattr(cell.model, part) for part in PARTS},
        "seed": cell.seed,
        "probe": probe,
        **dict.fromkeys(("run", "model_run", "corpus_run"), ""),
        **told,
    }


def _list(plan: Grid, store: Store, lines: list[Line]) -> Run:
    """What was left out names the run too: else its table could be that of an earlier start."""
    cells = [line for line in lines if "reason" not in line]
    skipped = [line for line in lines if "reason" in line]
    trains = dict.fromkeys(cell.train for cell in plan.cells)
    facts = {
        "piece": plan.study.name,
        "version": plan.study.version,
        "params": {"train": [asdict(train) for train in trains]},
        "upstream": {_place(line): line["run"] for line in cells},
        "skipped": {_place(line): line["reason"] for line in skipped},
    }
    key = run_key("study", facts)
    if not store.has(key):
        with store.writing("study", facts) as run:
            run.table("cells", pd.DataFrame(cells, columns=CELL_COLUMNS))
            run.table("skipped", pd.DataFrame(skipped, columns=[*CELL_COLUMNS, "reason"]))
            # what a report has to say of corpora and models, where rows travel without them
            corpora, models = ({line[of] for line in cells} for of in ("corpus_run", "model_run"))
            about = {"corpora": {key: store.open(key).json("report") for key in corpora}}
            about["models"] = {key: store.open(key).facts for key in models}
            run.json("upstream", about)
    return store.open(key)


def _place(line: Line) -> str:
    return f"{line['corpus']}/{line['model']}/{line['seed']}/{line['probe']}"


@dataclass(frozen=True)
class Engine:
    """One of the engines by name, with its workers."""

    name: str
    pool: WorkerPool

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown_name("engine", self.name, list(ENGINES))


@dataclass(frozen=True)
class EngineRequest:
    """An engine and its workers as a user asks for them; without an `engine`, this process."""

    engine: str | None = None
    workers: int | None = None
    address: str | None = None
    gpu_fraction: float | None = None
    device: str = "auto"
    threads: int | None = None

    def check(self) -> None:
        """What does not go together is refused before anything is done."""
        known = [name for name in ENGINES if name != HERE]
        if self.engine is not None and self.engine not in known:
            raise unknown_name("engine", self.engine, known)
        if self.address is not None and self.engine != "ray":
            raise HeedfulError("--address is of a Ray cluster: add --engine ray.")
        if self.workers is not None and self.engine is None:
            raise HeedfulError("--workers needs an engine: add --engine local or --engine ray.")
        self.chosen()
        no_card = not self.remote and (self.device == "cpu" or not torch.cuda.is_available())
        if self.gpu_fraction is not None and no_card:
            raise HeedfulError(
                "--gpu-fraction is of a CUDA card, and none would be used: leave it out, or run "
                "with --device cuda where there is one."
            )
        if self.engine == "ray":
            check(self.address)

    def keywords(self) -> dict[str, Any]:
        """As `heedful.audit` takes them; nothing without an engine."""
        if self.engine is None:
            return {}
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in own.items() if name != "device"}

    @property
    def remote(self) -> bool:
        """Whether GPUs of a cluster are used, which cannot be seen from here."""
        return self.address is not None and self.device == "cuda"

    def machine(self, batch_size: int = 1024) -> Machine:
        """This machine, with the threads that a worker will have. A cluster may have GPUs that this
        machine lacks."""
        threads = self.threads
        if threads is None and self.engine is not None:
            threads = max(1, cores() // (self.workers or cores()))
        if self.remote:
            return replace(machine("auto", threads, batch_size), device="cuda")
        return machine(self.device, threads, batch_size)

    def chosen(self, device: str = "cpu") -> Engine:
        """Called once jobs are known: the memory of a worker is estimated from earlier ones."""
        fraction = 0.25 if self.gpu_fraction is None else self.gpu_fraction
        pool = worker_pool(self.workers, self.threads, device, fraction, self.address)
        return Engine(self.engine or HERE, pool)


def run_jobs(
    todo: Sequence[Job],
    store: Store,
    machine: Machine,
    engine: Engine,
    watch: Watch = unwatched,
    *,
    until: float | None = None,
) -> list[Failure]:
    """Whatever is not in the store yet, done; what could not be, with the reason. It ends when
    `until` comes, by `time.monotonic`: the same call later does the rest."""
    queue = JobQueue(todo, watch, until)
    if engine.name != HERE:
        machine = replace(machine, threads=engine.pool.threads)
    place = store.place if isinstance(store.place, str) else store.place.absolute()
    import_module(ENGINES[engine.name]).run(queue, place, machine, engine.pool)
    return queue.failures


def run_elsewhere(plan: Grid, request: EngineRequest, store: Store, machine: Machine) -> None:
    """Where there is an engine, all models and probes of a plan; a failure is raised."""
    if request.engine is None:
        return
    todo = jobs([plan], store, machine, timed=False)
    failures = run_jobs(todo, store, machine, request.chosen(machine.device))
    if failures:
        raise HeedfulError(
            f"{failures[0].job.title} was not done ({failures[0].reason}): what was done is kept. "
            f"Fix this and run the command again."
        )


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


def makespan(todo: Iterable[Job], workers: int) -> float:
    """About how long so many workers will need, each taking the first job that is ready."""
    waiting, ends = [job for job in todo if not job.done], dict[str, float]()
    free = [0.0] * workers
    for job in waiting:  # in their order, needs come first
        free.sort()
        begin = max([free[0], *(ends.get(name, 0.0) for name in job.needs)])
        free[0] = ends[job.name] = begin + job.cost
    return max([0.0, *ends.values()])
