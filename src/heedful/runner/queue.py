"""Which job may start, which one is lost, and what is lost with it: the same for every engine.

An engine is one function, `run`, that empties a queue, and none changes a result. The one here
runs jobs one after another in this process.
"""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine, WorkerPool
from heedful.store import Place

TRIES = 3
"""A job whose worker dies is begun anew twice."""


@dataclass(frozen=True)
class Event:
    """What happened to a job: started, finished, retried, failed or skipped."""

    what: str
    job: Job
    worker: str = ""
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Failure:
    """A job that was not done, and why, in one sentence; `skipped` where it never began."""

    job: Job
    reason: str
    skipped: bool = False
    details: str = ""


Watch = Callable[[Event], None]


def unwatched(event: Event) -> None:
    """Nobody looks."""


class JobQueue:
    """Jobs that are not done, in their order. An engine takes the next one that is ready, and
    reports what became of it. It is over when `until` comes, by `time.monotonic`: what runs then
    is stopped, and resumes from its last epoch when it is started again."""

    def __init__(
        self, jobs: Sequence[Job], watch: Watch = unwatched, until: float | None = None
    ) -> None:
        self.failures: list[Failure] = []
        self._until = until
        self._watch = watch
        self._done = {job.name for job in jobs if job.done}
        self._waiting = {job.name: job for job in jobs if not job.done}
        self._running: dict[str, Job] = {}
        self._tries: dict[str, int] = {}

    @property
    def over(self) -> bool:
        return self.seconds_left == 0 or (not self._waiting and not self._running)

    @property
    def seconds_left(self) -> float | None:
        """None where there is no limit."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def take(self) -> Job | None:
        """The first whose needs are fulfilled, from now on running; none when the time is up."""
        if self.seconds_left == 0:
            return None
        for job in self._waiting.values():
            if self._done.issuperset(job.needs):
                self._running[job.name] = self._waiting.pop(job.name)
                self._tries[job.name] = self._tries.get(job.name, 0) + 1
                return job
        return None

    def started(self, job: Job, worker: str) -> None:
        self._watch(Event("started", job, worker))

    def finished(self, job: Job, worker: str, seconds: float) -> None:
        del self._running[job.name]
        self._done.add(job.name)
        self._watch(Event("finished", job, worker, seconds))

    def died(self, job: Job, worker: str, reason: str, details: str = "") -> None:
        """Not the job's fault, perhaps: it is tried again, before all others."""
        if self._tries[job.name] >= TRIES:
            self.failed(job, worker, f"{reason}, {TRIES} times", details)
            return
        del self._running[job.name]
        self._waiting = {job.name: job, **self._waiting}
        self._watch(Event("retried", job, worker, reason=reason))

    def failed(self, job: Job, worker: str, reason: str, details: str = "") -> None:
        """Its fault: it is not tried again, and what needs it is skipped."""
        del self._running[job.name]
        self.failures.append(Failure(job, reason, details=details))
        self._watch(Event("failed", job, worker, reason=reason))
        self._skip(job)

    def _skip(self, lost: Job) -> None:
        for job in list(self._waiting.values()):
            if lost.name in job.needs and job.name in self._waiting:
                del self._waiting[job.name]
                reason = f"it needs {lost.title}, which is not there"
                self.failures.append(Failure(job, reason, skipped=True))
                self._watch(Event("skipped", job, reason=reason))
                self._skip(job)


@dataclass(frozen=True)
class Outcome:
    """Whether it is done, how long it took and who did it. What a user must fix (`fix`) is
    not worth another try; anything else may be."""

    worker: str
    seconds: float
    error: str = ""
    fix: bool = False
    details: str = ""


def attempt(job: Job, place: Place, machine: Machine) -> Outcome:
    started, worker = time.perf_counter(), this_worker()
    error, fix, details = "", False, ""
    try:
        if job.work is not None:
            job.work(place, machine)
    except HeedfulError as wrong:
        error, fix = str(wrong).rstrip("."), True
    except Exception as wrong:  # noqa: BLE001 - a worker outlives whatever a job does
        text = " ".join(str(wrong).split())[:200]
        error = f"{type(wrong).__name__}: {text}" if text else type(wrong).__name__
        details = traceback.format_exc()
    return Outcome(worker, time.perf_counter() - started, error, fix, details)


def attempt_as(version: str, job: Job, place: Place, machine: Machine) -> Outcome:
    """For workers elsewhere: what another Heedful made would be found under the same keys."""
    if version == __version__:
        return attempt(job, place, machine)
    other = f"a node has Heedful {__version__}, and the sweep is of {version}"
    return Outcome(this_worker(), 0.0, f"{other}: install the same version on every node", True)


def settle(queue: JobQueue, job: Job, outcome: Outcome) -> None:
    """Report an outcome to the queue."""
    if not outcome.error:
        queue.finished(job, outcome.worker, outcome.seconds)
    elif outcome.fix:
        queue.failed(job, outcome.worker, outcome.error)
    else:
        queue.died(job, outcome.worker, outcome.error, outcome.details)


def this_worker() -> str:
    """Host and process, for the table of progress; never in the store."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run(queue: JobQueue, place: Place, machine: Machine, pool: WorkerPool) -> None:
    """The engine `here`: one job after another in this process."""
    while (job := queue.take()) is not None:
        queue.started(job, this_worker())
        settle(queue, job, attempt(job, place, machine))
