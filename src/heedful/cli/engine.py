"""Where a grid is run: options of the engines, and how its jobs go, shown as they run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import BatchOption, DeviceOption, ThreadsOption
from heedful.cli.terminal import harmless, say
from heedful.errors import HeedfulError, unknown_name
from heedful.progress import duration

if TYPE_CHECKING:
    from rich.table import Table

    from heedful.runner import Engine, Event, Failure, Grid, Job, Machine, Watch
    from heedful.store import Store


_Engine = Annotated[
    str | None, typer.Option("--engine", help="local (processes) or ray; else in this process.")
]
_QUARTER = 0.25
_LATEST = 12  # ended jobs that stay to be seen
_RUNNING = 40
_NOTED = ("retried", "failed", "skipped")


@dataclass(frozen=True)
class Where:
    """What was said about engine, workers and machine, as it was typed."""

    engine: _Engine = None
    workers: Annotated[
        int | None, typer.Option(help="Jobs at a time; else as cores and memory allow.")
    ] = None
    address: Annotated[
        str | None, typer.Option(help="host:port of a running Ray cluster, or auto.")
    ] = None
    gpu_fraction: Annotated[
        float | None,
        typer.Option(help="The part of a GPU that a worker takes; else a quarter."),
    ] = None
    shard: Annotated[
        str | None, typer.Option(help="i/n: only the i-th of n parts of the grid.")
    ] = None
    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    batch_size: BatchOption = 1024

    def check(self) -> None:
        """Before anything is done."""
        from heedful.runner import ENGINES, HERE

        known = [name for name in ENGINES if name != HERE]
        if self.engine is not None and self.engine not in known:
            raise unknown_name("engine", self.engine, known)
        if self.address is not None and self.engine != "ray":
            raise HeedfulError("--address is of a Ray cluster: add --engine ray.")
        if self.workers is not None and self.engine is None:
            raise HeedfulError("--workers needs an engine: add --engine local or --engine ray.")
        self.hire()
        if self.gpu_fraction is not None and not self._cards:
            raise HeedfulError(
                "--gpu-fraction is of a CUDA card, and none would be used: leave it out, or run "
                "with --device cuda where there is one."
            )
        if self.engine == "ray":
            from heedful.runner import check

            check(self.address)

    @property
    def _cards(self) -> bool:
        """Those of a cluster cannot be seen from here."""
        import torch

        elsewhere = self.address is not None and self.device == "cuda"
        return elsewhere or (self.device != "cpu" and torch.cuda.is_available())

    def machine(self) -> Machine:
        """This machine, with as many threads as a worker will have. Elsewhere there may be
        GPUs that are not here."""
        from dataclasses import replace

        from heedful.runner import cores, machine

        remote = self.address is not None and self.device == "cuda"
        threads = self.threads
        if threads is None and self.engine is not None:
            threads = max(1, cores() // (self.workers or cores()))
        found = machine("auto" if remote else self.device, threads, self.batch_size)
        return replace(found, device="cuda") if remote else found

    def part(self, plan: Grid) -> Grid:
        """Its cells of this shard, or all."""
        from heedful.runner import shard

        return shard(self.shard).cut(plan) if self.shard is not None else plan

    def hire(self, device: str = "cpu") -> Engine:
        """To be called when jobs are known: a worker's memory is guessed from what they took."""
        from heedful.runner import HERE, Engine, crew

        fraction = _QUARTER if self.gpu_fraction is None else self.gpu_fraction
        found = crew(self.workers, self.threads, device, fraction, self.address)
        return Engine(self.engine or HERE, found)


@dataclass(frozen=True)
class WhereSwept(Where):
    """The same of a sweep, which is for many processes."""

    engine: _Engine = "local"


def perform(jobs: Sequence[Job], store: Store, machine: Machine, engine: Engine) -> list[Failure]:
    """Run them, with a table on a terminal and lines elsewhere, and say how it ended."""
    from heedful.runner import HERE, run_jobs

    still = [job for job in jobs if not job.done]
    if not still:
        say(f"all {len(jobs)} jobs are done already")
        return []
    if engine.name != HERE:
        many = f"at most {engine.crew.workers} workers, {engine.crew.threads} threads each"
        say(f"{len(still)} jobs of {len(jobs)} on {engine.name}: {many} ({engine.crew.reason})")
    with _watched(still) as (watch, seconds):
        failures = run_jobs(jobs, store, machine, engine, watch)
    _say_end(len(still), failures, seconds())
    return failures


def _say_end(count: int, failures: Sequence[Failure], seconds: float) -> None:
    say(f"{count - len(failures)} of {count} jobs done in {duration(seconds)}")
    for failure in failures:
        what = "skipped" if failure.skipped else "failed"
        say(f"{what}: {failure.job.title}: {failure.reason}")
    if failures:
        say("what was done is kept: fix the reason and start again.")


@contextmanager
def _watched(jobs: Sequence[Job]) -> Iterator[tuple[Watch, Callable[[], float]]]:
    """To be told what happens; and the seconds since the beginning."""
    state = Tally(len(jobs))
    if not sys.stderr.isatty():
        yield (lambda event: say(state.line(event))), state.seconds
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), get_renderable=lambda: _table(state), transient=True):
        yield state.take, state.seconds


@dataclass
class Tally:
    """What is running, what has ended, and how often."""

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


def _table(state: Tally) -> Table:
    from rich.table import Table

    table = Table(box=None, caption=state.totals, caption_justify="left")
    for name in ("job", "state", "seconds", "worker"):
        table.add_column(name, justify="right" if name == "seconds" else "left")
    now = time.monotonic()
    for event in state.ended:
        spent = f"{event.seconds:.1f}" if event.seconds else ""
        _row(table, event.job.title, event.what, spent, event.worker)
    for event, began in list(state.running.values())[:_RUNNING]:
        _row(table, event.job.title, "running", f"{now - began:.1f}", event.worker)
    return table


def _row(table: Table, *cells: str) -> None:
    """As text: what a title holds is no markup."""
    from rich.text import Text

    table.add_row(*(Text(harmless(cell)) for cell in cells))
