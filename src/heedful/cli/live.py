"""How a sweep goes: a table on a terminal that changes in place, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from heedful.cli.terminal import harmless, say
from heedful.progress import duration

if TYPE_CHECKING:
    from heedful.runner import Event, Job, Watch

_LATEST = 12  # ended jobs that stay to be seen
_RUNNING = 40


@contextmanager
def live(jobs: Sequence[Job]) -> Iterator[tuple[Watch, Callable[[], float]]]:
    """To be told what happens; and the seconds since the beginning."""
    state = Tally(len(jobs))
    if not sys.stderr.isatty():
        yield (lambda event: say(state.line(event))), state.seconds
        return
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


_NOTED = ("retried", "failed", "skipped")


def _table(state: Tally) -> Table:
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
    table.add_row(*(Text(harmless(cell)) for cell in cells))
