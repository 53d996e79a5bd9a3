"""Two small processes of a sweep: a local worker, and the one that ends a Ray of our own.

    python -m heedful.runner.processes worker DESCRIPTOR PARENT
    python -m heedful.runner.processes reaper MARK

Nothing heavy is imported before a worker watches its parent: a parent that dies meanwhile would
leave a worker behind that nobody ends. Ray's processes end each other, but not those that are just
starting when Heedful is stopped or killed. All of them have MARK in their environment, so the
reaper misses none and hits nobody else's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from secrets import token_hex

import psutil

MARK = "HEEDFUL_OWN_RAY"
_QUIET = 0.5  # seconds without a process: none is about to start another
_PATIENCE = 20.0


def serve(line: Connection) -> None:
    """Jobs until the line is closed, which it is too when the parent is gone."""
    from heedful.runner.queue import attempt

    while True:
        try:
            job, place, machine = line.recv()
        except (EOFError, OSError):
            return
        outcome = attempt(job, place, machine)
        try:
            line.send(outcome)
        except OSError:
            return


def leave_with(parent: int) -> None:
    """A worker whose parent was killed in the middle of a job would work for nobody. Its number
    comes from the parent: asked here, it may be that of whoever took the worker over."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextmanager
def own_processes() -> Iterator[None]:
    """Whatever is started within is gone afterwards, also when this process is killed."""
    mark = token_hex(16)
    command = [sys.executable, "-m", __name__, "reaper", mark]
    reaper = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )
    os.environ[MARK] = mark
    try:
        yield
    finally:
        os.environ.pop(MARK, None)
        assert reaper.stdin is not None
        reaper.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            reaper.wait(_PATIENCE)


def reap(mark: str) -> None:
    seen = time.monotonic()
    while time.monotonic() - seen < _QUIET:
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # another user's, or gone
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get(MARK) == mark:
                    seen = time.monotonic()
                    process.kill()
        time.sleep(0.1)


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    if role == "worker":
        descriptor, parent = map(int, arguments)
        threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
        serve(Connection(descriptor))
    else:
        sys.stdin.buffer.read()  # until whoever started this closes it or is gone
        reap(arguments[0])
