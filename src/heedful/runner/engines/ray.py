"""Jobs as tasks of a Ray cluster, which is either running already or started here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from heedful import __version__
from heedful.runner.engines.board import Board, Failure, Watch, unwatched
from heedful.runner.engines.crew import Crew
from heedful.runner.engines.outcome import attempt_as, settle
from heedful.runner.engines.ray_cluster import Head, cluster
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine
from heedful.store import Place

_LOOK = 2.0  # seconds between looks at the head, while no job ends
_LOSSES = {
    "NodeDiedError": "its node was lost",
    "OutOfMemoryError": "its node had no memory left and killed its worker",
    "WorkerCrashedError": "its worker died",
}


def run(
    jobs: Iterable[Job],
    place: Place,
    machine: Machine,
    watch: Watch = unwatched,
    crew: Crew = Crew(),
) -> list[Failure]:
    """A task per job, at an address that was checked. The board tries lost ones again, so a
    lost node costs what ran on it; a node that joins is given what waits."""
    board = Board(jobs, watch)
    if board.over:
        return []
    with cluster(crew, machine) as ray:
        task, head = ray.remote(attempt_as).options(**share(crew, machine)), Head(ray)
        running: dict[Any, Job] = {}
        while not board.over:
            while len(running) < crew.workers and (job := board.take()) is not None:
                board.started(job, "ray")
                running[task.remote(__version__, job, place, machine)] = job
            for done in ray.wait(list(running), timeout=_LOOK)[0]:
                _settle(ray, board, running.pop(done), done)
            head.check()
    return board.failures


def share(crew: Crew, machine: Machine) -> dict[str, float]:
    """What a task takes of a node: a core for each thread, and its part of a card. Lost ones are
    the board's to try again, not Ray's."""
    asked: dict[str, float] = {"num_cpus": machine.threads, "max_retries": 0}
    return asked | ({"num_gpus": crew.gpu_fraction} if machine.device == "cuda" else {})


def _settle(ray: Any, board: Board, job: Job, done: Any) -> None:
    """An attempt raises nothing: what a task raises, its worker could not even begin."""
    try:
        settle(board, job, ray.get(done))
    except ray.exceptions.RayTaskError as foreign:
        board.failed(job, "ray", _foreign(str(foreign)), str(foreign))
    except ray.exceptions.RayError as lost:
        name = type(lost).__name__
        board.died(job, "ray", _LOSSES.get(name, f"its worker was lost ({name})"), str(lost))


def _foreign(said: str) -> str:
    last = (said.strip().splitlines() or [""])[-1].strip()[:200]
    return (
        f"a node of the cluster cannot load Heedful {__version__} ({last}): install the same "
        f"version on every node"
    )
