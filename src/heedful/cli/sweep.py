"""`heedful sweep`: several studies at once, from a file, on one machine or on many.

Studies share its options of engines, workers and machines, and how jobs are shown as they run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli.engines import ENGINE, EngineOptions
from heedful.cli.help import MACHINE
from heedful.cli.options import (
    DEFAULT_STORE,
    BatchOption,
    DataDirOption,
    DeviceOption,
    DryRunOption,
    JsonOption,
    MaybeStoreOption,
    ThreadsOption,
    argument,
    check_data_dir,
    open_store,
    option,
    source,
    spread,
)
from heedful.cli.output import harmless, say, show, show_result
from heedful.cli.tables import Table, show_table
from heedful.errors import HeedfulError
from heedful.progress import duration

if TYPE_CHECKING:
    from rich.table import Table as Drawing

    from heedful.cli.gridfile import GridFile
    from heedful.runner import Engine, Event, Failure, Grid, Job, Machine, Watch, WorkerPool
    from heedful.store import Run, Store


_LATEST = 12  # ended jobs that stay to be seen
_RUNNING = 40
_NOTED = ("retried", "failed", "skipped")


@dataclass(frozen=True)
class Where(EngineOptions):
    """Engine, workers and machine, as they were typed."""

    shard: str | None = option("i/n: run only the i-th of n parts of the grid.")
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    batch_size: BatchOption = 1024

    def check(self) -> None:
        """Before anything is done."""
        self.asked(self.device, self.threads).check()

    def machine(self) -> Machine:
        """This machine, with the threads that a worker will have."""
        return self.asked(self.device, self.threads).machine(self.batch_size)

    def part(self, plan: Grid) -> Grid:
        """The cells of this shard, or all."""
        from heedful.runner import shard

        return shard(self.shard).cut(plan) if self.shard is not None else plan

    def chosen_engine(self, device: str = "cpu") -> Engine:
        """Called once jobs are known: the memory of a worker is estimated from earlier ones."""
        return self.asked(self.device, self.threads).chosen(device)


@dataclass(frozen=True)
class WhereSwept(Where):
    """The same for a sweep, which runs in several processes."""

    engine: str | None = option(ENGINE, "local", panel=MACHINE)


@spread
def sweep(
    context: typer.Context,
    grid: Path = argument("A YAML file with studies and choices.", ...),
    asked: WhereSwept = WhereSwept(),
    store: MaybeStoreOption = None,
    data_dir: DataDirOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run several studies from a file.

    Prints the plan, then runs what is not done yet; run the same command again to resume. `store`
    and `data_dir` of the file override the environment, and options override both.

    Examples:
    heedful sweep grid.yaml --dry-run
    heedful sweep grid.yaml --workers 4
    """
    from heedful.cli.gridfile import read
    from heedful.runner import jobs as jobs_of
    from heedful.runner import list_studies

    asked.check()
    file = read(grid)
    given = {"store": store, "data_dir": data_dir}
    typed = {name: given[name] for name in given if source(context, name) == "COMMANDLINE"}
    named: dict[str, Any] = {**given, **file.settings, **typed}
    place = open_store(named["store"] or DEFAULT_STORE)
    folder = check_data_dir(Path(named["data_dir"]) if named["data_dir"] else None)
    plans = [asked.part(plan) for plan in _plans(file, folder)]
    here = asked.machine()
    jobs = jobs_of(plans, place, here, announce=say)
    engine = asked.chosen_engine(here.device)
    if not as_json:
        _show_plan(jobs, engine.pool)
    if dry_run:
        show_result("sweep", as_json, _told(jobs, engine.pool) | {"dry_run": True})
        return
    failures = run_shown(jobs, place, here, engine)
    runs = [] if asked.shard else list_studies(plans, failures, place, here, say)
    _show_end(jobs, failures, runs, as_json)
    if asked.shard:
        rest = f"`heedful sweep {grid}` without --shard lists all of them"
        say(f"shard {asked.shard} is done: {rest}.")
    if failures:
        raise typer.Exit(1)


def _plans(file: GridFile, folder: Path | None) -> list[Grid]:
    """A grid for each entry; refusals name the line of the entry."""
    from heedful.cli.study import plan_values
    from heedful.data import CORPORA, corpus_params
    from heedful.runner import check_size

    plans: list[Grid] = []
    for entry in file.entries:
        try:
            plan = plan_values(entry.values, folder, file.settings.get("precision", "float32"))
            check_size(sum(len(each.cells) for each in [*plans, plan]))
        except HeedfulError as error:
            raise file.lines.wrong(entry.node, str(error)) from error
        try:  # before anything runs: a corpus checks them only when it is prepared
            for spec in {id(cell.corpus): cell.corpus for cell in plan.cells}.values():
                corpus_params(CORPORA[spec.name], spec.params)
        except HeedfulError as error:
            raise file.lines.wrong(entry.params, str(error)) from error
        plans.append(plan)
    return plans


def _show_plan(jobs: list[Job], pool: WorkerPool) -> None:
    rows = [
        [
            job.name,
            "done" if job.done else f"about {duration(job.cost)}",
            job.title,
            ", ".join(job.needs),
        ]
        for job in jobs
    ]
    plain = (
        f"{name:<24} {state:>12}  {title}{'  needs ' * bool(needs)}{needs}"
        for name, state, title, needs in rows
    )
    show_table(Table(("job", "time", "is", "needs"), rows, numbers=("time",)), plain)
    told = _told(jobs, pool)
    wall = f", {duration(told['wall_seconds'])} with {pool.workers} workers"
    left = f"about {duration(told['seconds'])} of work{'' if pool.address else wall}"
    done = sum(job.done for job in jobs)
    show(f"{len(jobs)} jobs, {done} of them done: {left} (timed on a sample)")


def _told(jobs: list[Job], pool: WorkerPool) -> dict[str, Any]:
    from heedful.runner import makespan

    return {
        "jobs": [_fields(job) for job in jobs],
        "seconds": sum(job.cost for job in jobs),
        "wall_seconds": makespan(jobs, pool.workers),
        "workers": pool.workers,
    }


def _fields(job: Job) -> dict[str, Any]:
    names = ("kind", "name", "title", "needs", "cost", "done")
    return {name: getattr(job, name) for name in names}


def _show_end(jobs: list[Job], failures: list[Failure], runs: list[Run], as_json: bool) -> None:
    lost = {failure.job.name for failure in failures}
    ended = [_fields(replace(job, done=job.name not in lost)) for job in jobs]
    told = [{"job": f.job.name, "reason": f.reason, "skipped": f.skipped} for f in failures]
    studies = [{"study": run.facts["piece"], "run": run.key} for run in runs]
    performed = sum(not job.done for job in jobs) - len(failures)
    document = {"performed": performed, "failures": told, "studies": studies, "jobs": ended}
    lines = [f"{run.facts['piece']}: {run.key}" for run in runs]
    if runs:
        keys = " ".join(run.key for run in runs)
        lines.append(f"`heedful report {keys} -o report` writes the page")
    show_result("sweep", as_json, document, *lines)


def run_shown(jobs: Sequence[Job], store: Store, machine: Machine, engine: Engine) -> list[Failure]:
    """Run jobs, shown as a table on a terminal and as lines elsewhere, and say how it ended."""
    from heedful.runner import HERE, run_jobs

    still = [job for job in jobs if not job.done]
    if not still:
        say(f"all {len(jobs)} jobs are done already")
        return []
    if engine.name != HERE:
        many = f"at most {engine.pool.workers} workers, {engine.pool.threads} threads each"
        say(f"{len(still)} jobs of {len(jobs)} on {engine.name}: {many} ({engine.pool.reason})")
    tally = Tally(len(still))
    with _watched(tally) as watch:
        failures = run_jobs(jobs, store, machine, engine, watch)
    say(f"{len(still) - len(failures)} of {len(still)} jobs done in {duration(tally.seconds())}")
    for failure in failures:
        what = "skipped" if failure.skipped else "failed"
        say(f"{what}: {failure.job.title}: {failure.reason}")
    if failures:
        say("what was done is kept: fix the reason and start again.")
    return failures


@contextmanager
def _watched(tally: Tally) -> Iterator[Watch]:
    """A listener for events."""
    if not sys.stderr.isatty():
        yield lambda event: say(tally.line(event))
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), get_renderable=lambda: _table(tally), transient=True):
        yield tally.take


@dataclass
class Tally:
    """Running and ended jobs, and counts of events."""

    total: int
    running: dict[str, tuple[Event, float]] = field(default_factory=dict)
    ended: list[Event] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def take(self, event: Event) -> None:
        self.counts[event.what] = self.counts.get(event.what, 0) + 1
        if event.what == "started":
            self.running[event.job.name] = event, time.monotonic()
            return
        self.running.pop(event.job.name, None)
        self.ended = [*self.ended, event][-_LATEST:]

    def line(self, event: Event) -> str:
        """For a log: `[3/24] finished: planted cnn-additive seed 0 (4 s, node7:1234)`."""
        self.take(event)
        spent = [duration(event.seconds)] if event.what == "finished" else []
        about = ", ".join([*spent, *([event.worker] if event.worker else [])])
        why = f": {event.reason}" if event.reason else ""
        return f"[{self.over}/{self.total}] {event.what}: {event.job.title}{why} ({about})"

    @property
    def over(self) -> int:
        return sum(self.counts.get(what, 0) for what in ("finished", "failed", "skipped"))

    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def totals(self) -> str:
        parts = [f"{self.over} of {self.total} ended", f"{len(self.running)} running"]
        parts += [f"{n} {what}" for what, n in self.counts.items() if what in _NOTED]
        return ", ".join([*parts, duration(self.seconds())])


def _table(tally: Tally) -> Drawing:
    from rich.table import Table as Drawing
    from rich.text import Text

    table = Drawing(box=None, caption=tally.totals, caption_justify="left")
    for name in ("job", "state", "seconds", "worker"):
        table.add_column(name, justify="right" if name == "seconds" else "left")
    now = time.monotonic()
    ended = [(event, event.what, event.seconds) for event in tally.ended]
    running = [(event, "running", now - began) for event, began in tally.running.values()]
    for event, state, seconds in [*ended, *running[:_RUNNING]]:
        spent = f"{seconds:.1f}" if seconds or state == "running" else ""
        cells = (event.job.title, state, spent, event.worker)
        table.add_row(*(Text(harmless(cell)) for cell in cells))  # a title may look like markup
    return table
