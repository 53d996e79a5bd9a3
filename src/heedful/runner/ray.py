"""Jobs as tasks of a Ray cluster, which is found at its address or started here, and watched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib.util import find_spec
from typing import Any

from heedful import __version__
from heedful.errors import HeedfulError
from heedful.runner.jobs import Job
from heedful.runner.machine import Machine, WorkerPool
from heedful.runner.processes import own_processes
from heedful.runner.queue import JobQueue, attempt_as, settle
from heedful.store import Place

LOOPBACK = "127.0.0.1"
_CONNECT, _ANSWER = 3.0, 12.0  # seconds: Ray itself would try for minutes
_OFTEN, _SILENCE = 2.0, 20.0  # seconds: after 60 Ray would end this process without a word of ours
_LOOK = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)"
_NO_TOKEN = ("InvalidAuthToken", "AuthenticationError")
_PAUSE = 2.0  # seconds between looks at the head, while no job ends
_LOSSES = {
    "NodeDiedError": "its node was lost",
    "OutOfMemoryError": "its node had no memory left and killed its worker",
    "WorkerCrashedError": "its worker died",
}


@contextmanager
def cluster(pool: WorkerPool, machine: Machine) -> Iterator[Any]:
    """Ray, connected. What it prints of lost nodes goes where no results are printed."""
    check(None)
    ray = _ray(pool.address)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    own = pool.address is None
    with redirect_stdout(sys.stderr), own_processes() if own else nullcontext():
        try:
            if own:
                room = {"num_cpus": pool.workers * machine.threads, "include_dashboard": False}
                ray.init(_node_ip_address=_loopback(ray), **room, **quiet)
            else:
                ray.init(address=pool.address, **quiet)
            yield ray
        finally:
            ray.shutdown()


class Head:
    """The process that every Ray cluster hangs on. Its machine may restart it: one that is
    silent for a while is gone."""

    def __init__(self, ray: Any) -> None:
        self.address = str(ray.get_runtime_context().gcs_address)
        self._heard = self._looked = time.monotonic()

    def check(self) -> None:
        now = time.monotonic()
        if now - self._looked < _OFTEN:
            return
        if connects(self.address):
            self._heard = now
        elif now - self._heard > _SILENCE:
            raise HeedfulError(
                f"the head of the Ray cluster at {self.address} does not answer any more: what was "
                f"done is kept, so start the cluster and then this command again."
            )
        self._looked = time.monotonic()


def _ray(address: str | None) -> Any:
    """Ray reads these when it is imported. Without clusters it binds to this machine alone; told
    the address 127.0.0.1 it would take that of the network card instead."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    return ray


def _loopback(ray: Any) -> str:
    """Our own Ray is nobody else's: what would be open to the network is not started."""
    if ray.util.get_node_ip_address() != LOOPBACK:
        raise HeedfulError(
            "Ray was imported before Heedful could keep it on this machine: set "
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before, or use --engine local."
        )
    return LOOPBACK


def check(address: str | None) -> None:
    """Refuse in seconds what Ray would wait for minutes: first a connection, then an answer."""
    if find_spec("ray") is None:
        raise HeedfulError(
            "the engine ray needs Ray: pip install 'heedful[scale]', or use --engine local."
        )
    if address is None:
        return
    if address != "auto" and not connects(address):
        raise _silent(address)
    look = [sys.executable, "-c", _LOOK, address]
    try:
        found = subprocess.run(look, capture_output=True, timeout=_ANSWER, check=False)
    except subprocess.TimeoutExpired as waited:
        raise _refused(address, waited.stderr) from None
    if found.returncode:
        raise _refused(address, found.stderr)


def connects(address: str) -> bool:
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise HeedfulError(f"--address is {address!r}: write host:port, or auto.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()
    except OSError:
        return False
    return True


def _refused(address: str, said: bytes | None) -> HeedfulError:
    """Since Ray 2.60 a cluster asks for a token, unless it was told not to."""
    if not any(word in (said or b"").decode(errors="replace") for word in _NO_TOKEN):
        return _silent(address)
    return HeedfulError(
        f"the Ray cluster at {address} asks for another token: set RAY_AUTH_TOKEN_PATH to a file "
        f"with the one that its nodes have."
    )


def _silent(address: str) -> HeedfulError:
    return HeedfulError(
        f"no Ray cluster answers at {address}: start one (`ray start --head`), fix --address, "
        f"or leave it out to use this machine."
    )


def run(queue: JobQueue, place: Place, machine: Machine, pool: WorkerPool) -> None:
    """A task per job, at an address that was checked. The queue tries lost ones again, so a
    lost node costs what ran on it; a node that joins is given what waits."""
    if queue.over:
        return
    with cluster(pool, machine) as ray:
        task, head = ray.remote(attempt_as).options(**share(pool, machine)), Head(ray)
        running: dict[Any, Job] = {}
        while not queue.over:
            while len(running) < pool.workers and (job := queue.take()) is not None:
                queue.started(job, "ray")
                running[task.remote(__version__, job, place, machine)] = job
            for done in ray.wait(list(running), timeout=_PAUSE)[0]:
                _settle(ray, queue, running.pop(done), done)
            head.check()


def share(pool: WorkerPool, machine: Machine) -> dict[str, float]:
    """What a task takes of a node: a core for each thread, and its part of a card. Lost ones are
    the queue's to try again, not Ray's."""
    asked: dict[str, float] = {"num_cpus": machine.threads, "max_retries": 0}
    return asked | ({"num_gpus": pool.gpu_fraction} if machine.device == "cuda" else {})


def _settle(ray: Any, queue: JobQueue, job: Job, done: Any) -> None:
    """An attempt raises nothing: what a task raises, its worker could not even begin."""
    try:
        settle(queue, job, ray.get(done))
    except ray.exceptions.RayTaskError as foreign:
        last = (str(foreign).strip().splitlines() or [""])[-1].strip()[:200]
        reason = (
            f"a node of the cluster cannot load Heedful {__version__} ({last}): install the same "
            f"version on every node"
        )
        queue.failed(job, "ray", reason, str(foreign))
    except ray.exceptions.RayError as lost:
        name = type(lost).__name__
        queue.died(job, "ray", _LOSSES.get(name, f"its worker was lost ({name})"), str(lost))
