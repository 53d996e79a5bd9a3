"""Run studies: cell by cell here, or as jobs on an engine; then list what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

import pandas as pd

from heedful.data import MissingData
from heedful.errors import unknown_name
from heedful.progress import Progress, silent
from heedful.runner.grid import Cell, Grid, check_terms
from heedful.runner.jobs import Job, probes_name
from heedful.runner.machine import Machine, WorkerPool
from heedful.runner.probe import Reading, Skipped, probed
from heedful.runner.queue import Failure, Watch, unwatched
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
"""Where jobs run, by name: each module has one function `run`."""


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
    _check_corpora(plan, store, progress)
    cells: list[Line] = []
    skipped: list[Line] = []
    for number, cell in enumerate(plan.cells, 1):
        reason = _left_out(plan, cell, store, progress)
        if reason is not None:
            skipped += [{**_line(cell, probe.name), "reason": reason} for probe in cell.probes]
            announce(f"[{number}/{len(plan.cells)}] {cell.title} is left out: {reason}")
            continue
        announce(f"[{number}/{len(plan.cells)}] {cell.title}")
        for line, reason in _run_cell(plan, cell, store, machine, progress):
            if reason is None:
                cells.append(line)
            else:
                skipped.append({**line, "reason": reason})
    return _list(plan, store, cells, skipped)


def _check_corpora(plan: Grid, store: Store, progress: Progress) -> None:
    """One that is not there is told of before hours are spent on the others."""
    for cell in plan.cells:
        if not plan.lenient and cell.name not in plan.failed:
            plan.corpus(cell, store, progress)


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
) -> Iterator[tuple[Line, str | None]]:
    corpus = plan.corpus(cell, store, progress)

    def run_of(recipe: Recipe) -> Run:
        return trained(store, corpus, recipe, machine, progress)

    model, base = model_key(corpus, cell.recipe), cell.recipe
    reading = Reading(cell.seed, precision=plan.precision)
    for probe, result in probed(store, base, cell.probes, reading, machine, run_of, progress):
        found = "" if isinstance(result, Skipped) else result.key
        line = _line(cell, probe.name, found, model, corpus.key)
        yield line, result.reason if isinstance(result, Skipped) else None


def _line(cell: Cell, probe: str, run: str = "", model: str = "", corpus: str = "") -> Line:
    return {
        "corpus": cell.corpus.title,
        "model": cell.model.name,
        **{part: getattr(cell.model, part) for part in PARTS},
        "seed": cell.seed,
        "probe": probe,
        "run": run,
        "model_run": model,
        "corpus_run": corpus,
    }


def _list(plan: Grid, store: Store, cells: list[Line], skipped: list[Line]) -> Run:
    """What was left out names the run too: else its table could be that of an earlier start."""
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
            run.json("upstream", _about(store, cells))
    return store.open(key)


def _about(store: Store, cells: list[Line]) -> dict[str, Any]:
    """What a report has to say of corpora and models, where rows travel without them."""
    corpora = {line["corpus_run"]: store.open(line["corpus_run"]) for line in cells}
    models = {line["model_run"]: store.open(line["model_run"]) for line in cells}
    return {
        "corpora": {key: run.json("report") for key, run in corpora.items()},
        "models": {key: run.facts for key, run in models.items()},
    }


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


def run_jobs(
    jobs: Iterable[Job], store: Store, machine: Machine, engine: Engine, watch: Watch = unwatched
) -> list[Failure]:
    """Whatever is not in the store yet, done; what could not be, with the reason."""
    module = import_module(ENGINES[engine.name])
    there = replace(machine, threads=engine.pool.threads)
    where = machine if engine.name == HERE else there
    place = store.place if isinstance(store.place, str) else store.place.absolute()
    failures: list[Failure] = module.run(jobs, place, where, watch, engine.pool)
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
