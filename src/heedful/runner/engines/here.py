"""Jobs one after another in this process."""

from __future__ import annotations

from collections.abc import Iterable

from heedful.runner.engines.board import (
    Board,
    Failure,
    Watch,
    attempt,
    settle,
    this_worker,
    unwatched,
)
from heedful.runner.engines.crew import Crew
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine
from heedful.store import Place


def run(
    jobs: Iterable[Job],
    place: Place,
    machine: Machine,
    watch: Watch = unwatched,
    crew: Crew = Crew(),
) -> list[Failure]:
    board = Board(jobs, watch)
    while (job := board.take()) is not None:
        board.started(job, this_worker())
        settle(board, job, attempt(job, place, machine))
    return board.failures
