"""Jobs as tasks of a Ray cluster, which is either running already or started here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.runner.engines.board import Board, Failure, Watch, unwatched
from heedful.runner.engines.crew import Crew
from heedful.runner.engines.outcome import attempt, settle
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine

_CONNECT, _ANSWER = 3.0, 12.0  # seconds: Ray itself would try for minutes
_LOOK = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)"


def run(
    jobs: Iterable[Job],
    place: Path,
    machine: Machine,
    watch: Watch = unwatched,
    crew: Crew = Crew(),
) -> list[Failure]:
    """A task per job, at an address that was checked. The board tries lost ones again, so a
    lost node costs what ran on it."""
    board = Board(jobs, watch)
    if board.over:
        return []
    with _cluster(crew, machine) as ray:
        task = ray.remote(attempt).options(**_share(crew, machine), max_retries=0)
        running: dict[Any, Job] = {}
        while not board.over:
            while len(running) < crew.workers:
                job = board.take()
                if job is None:
                    break
                board.started(job, "ray")
                running[task.remote(job, place.absolute(), machine)] = job
            for done in ray.wait(list(running))[0]:
                _settle(ray, board, running.pop(done), done)
    return board.failures


def _settle(ray: Any, board: Board, job: Job, done: Any) -> None:
    try:
        settle(board, job, ray.get(done))
    except ray.exceptions.RayError as lost:
        board.died(job, "ray", f"its worker was lost ({type(lost).__name__})", str(lost))


def _share(crew: Crew, machine: Machine) -> dict[str, float]:
    """What a task takes of a node: a core for each thread, and its part of a card."""
    share: dict[str, float] = {"num_cpus": machine.threads}
    return share | ({"num_gpus": crew.gpu_fraction} if machine.device == "cuda" else {})


@contextmanager
def _cluster(crew: Crew, machine: Machine) -> Iterator[Any]:
    ray = _ray()
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if crew.address is not None:
        ray.init(address=crew.address, **quiet)
    else:
        own = {"num_cpus": crew.workers * machine.threads, "include_dashboard": False}
        ray.init(_node_ip_address="127.0.0.1", **own, **quiet)
    try:
        yield ray
    finally:
        ray.shutdown()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise HeedfulError(
            "the engine ray needs Ray: pip install 'heedful[scale]', or use --engine local."
        ) from error
    return ray


def check(address: str | None) -> None:
    """Refuse in seconds what Ray would wait for minutes: first a connection, then an answer."""
    _ray()
    if address is None:
        return
    if address != "auto" and not _connects(address):
        raise _silent(address)
    look = [sys.executable, "-c", _LOOK, address]
    try:
        found = subprocess.run(look, capture_output=True, timeout=_ANSWER, check=False)
    except subprocess.TimeoutExpired:
        raise _silent(address) from None
    if found.returncode:
        raise _silent(address)


def _silent(address: str) -> HeedfulError:
    return HeedfulError(
        f"no Ray cluster answers at {address}: start one (`ray start --head`), mend --address, "
        f"or leave it out to use this machine."
    )


def _connects(address: str) -> bool:
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise HeedfulError(f"--address is {address!r}: write host:port, or auto.")
    try:
        socket.create_connection((host, int(port)), _CONNECT).close()
    except OSError:
        return False
    return True
