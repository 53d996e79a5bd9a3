"""A job's end, told without exceptions: one that cannot be unpickled would end an engine."""

from __future__ import annotations

import os
import socket
import time
import traceback
from dataclasses import dataclass

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.runner.engines.board import Board
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine
from heedful.runner.work import work
from heedful.store import Place


@dataclass(frozen=True)
class Outcome:
    """Whether it is done, how long it took and who did it. What a user must mend (`mend`) is
    not worth another try; anything else may be."""

    worker: str
    seconds: float
    error: str = ""
    mend: bool = False
    details: str = ""


def attempt(job: Job, place: Place, machine: Machine) -> Outcome:
    started, worker = time.perf_counter(), this_worker()
    error, mend, details = "", False, ""
    try:
        work(job, place, machine)
    except HeedfulError as wrong:
        error, mend = str(wrong).rstrip("."), True
    except Exception as wrong:  # noqa: BLE001 - a worker outlives whatever a job does
        error, details = _one_line(wrong), traceback.format_exc()
    return Outcome(worker, time.perf_counter() - started, error, mend, details)


def attempt_as(version: str, job: Job, place: Place, machine: Machine) -> Outcome:
    """For workers elsewhere: what another Heedful made would be found under the same keys."""
    if version == __version__:
        return attempt(job, place, machine)
    other = f"a node has Heedful {__version__}, and the sweep is of {version}"
    return Outcome(this_worker(), 0.0, f"{other}: install the same version on every node", True)


def settle(board: Board, job: Job, outcome: Outcome) -> None:
    """Tell the board."""
    if not outcome.error:
        board.finished(job, outcome.worker, outcome.seconds)
    elif outcome.mend:
        board.failed(job, outcome.worker, outcome.error)
    else:
        board.died(job, outcome.worker, outcome.error, outcome.details)


def this_worker() -> str:
    """Host and process, for the table of progress; never in the store."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _one_line(wrong: Exception) -> str:
    text = " ".join(str(wrong).split())[:200]
    return f"{type(wrong).__name__}: {text}" if text else type(wrong).__name__
