"""The process of a local worker: `python -m heedful.runner.engines.worker DESCRIPTOR`."""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection

from heedful.runner.engines.outcome import attempt


def serve(line: Connection) -> None:
    """Jobs until the line is closed, which it is too when the parent is gone."""
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
    """A worker whose parent was killed in the middle of a job would work for nobody."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    serve(Connection(int(sys.argv[1])))
