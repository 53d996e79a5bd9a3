"""Jobs in processes on this machine.

A worker is a Python of its own, started afresh and not forked, that never sees the main module: a
script needs no guard. It is handed one job at a time, so when it dies only that job is lost.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Container
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, wait

from heedful.runner.jobs import Job
from heedful.runner.machine import Machine, WorkerPool
from heedful.runner.queue import JobQueue, settle
from heedful.store import Place

_WORKER = ("-m", "heedful.runner.processes", "worker")
_PATIENCE = 5.0  # seconds until a worker that does not end is killed


def run(queue: JobQueue, place: Place, machine: Machine, pool: WorkerPool) -> None:
    """Every worker gets the first job that is ready, until none is left."""
    workers: dict[Connection, _Worker] = {}
    try:
        while not queue.over:
            _hand_out(queue, workers, place, machine, pool)
            busy = [line for line, worker in workers.items() if worker.job is not None]
            for line in wait(busy, queue.seconds_left):
                if isinstance(line, Connection):
                    _listen(queue, workers, line)
    finally:
        for worker in workers.values():
            worker.stop()


def _hand_out(
    queue: JobQueue,
    workers: dict[Connection, _Worker],
    place: Place,
    machine: Machine,
    pool: WorkerPool,
) -> None:
    idle = [worker for worker in workers.values() if worker.job is None]
    while idle or len(workers) < pool.workers:
        job = queue.take()
        if job is None:
            return
        if not idle:
            taken = {worker.number for worker in workers.values()}
            idle.append(_Worker(first_free(taken), machine))
            workers[idle[-1].line] = idle[-1]
        worker = idle.pop()
        queue.started(job, worker.name)
        worker.begin(job, place, machine)


def first_free(taken: Container[int]) -> int:
    """The number of a new worker: that of one that died is free again, and so is its card."""
    return next(number for number in count() if number not in taken)


def _listen(queue: JobQueue, workers: dict[Connection, _Worker], line: Connection) -> None:
    """A finished job, or the silence of a dead worker."""
    worker = workers[line]
    job, worker.job = worker.job, None
    assert job is not None
    try:
        settle(queue, job, line.recv())
    except (EOFError, OSError):
        del workers[line]
        queue.died(job, worker.name, f"its worker {worker.end()}")


class _Worker:
    """A process and the line to it."""

    def __init__(self, number: int, machine: Machine) -> None:
        self.number = number
        ours, theirs = socket.socketpair()
        self.line = Connection(ours.detach())
        self.job: Job | None = None
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *_WORKER, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(number, machine),
                start_new_session=True,  # Ctrl-C is ours to pass on
            )

    @property
    def name(self) -> str:
        return f"{socket.gethostname()}:{self._process.pid}"

    def begin(self, job: Job, place: Place, machine: Machine) -> None:
        self.job = job
        with suppress(OSError):  # it may be dead already, which its line will say
            self.line.send((job, place, machine))

    def end(self) -> str:
        """How it ended, once it has."""
        code = self._wait()
        return f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"

    def stop(self) -> None:
        if self.job is not None:
            self._process.terminate()
        self.line.close()
        self._wait()

    def _wait(self) -> int:
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def environment(number: int, machine: Machine) -> dict[str, str]:
    """Several cards are dealt out in turn: all of the machine, or those that were given to us."""
    import torch

    given = dict(os.environ)
    if machine.device == "cuda":
        every = ",".join(map(str, range(torch.cuda.device_count())))
        cards = given.get("CUDA_VISIBLE_DEVICES", every).split(",")
        given["CUDA_VISIBLE_DEVICES"] = cards[number % len(cards)]
    return given | {"OMP_NUM_THREADS": str(machine.threads)}
