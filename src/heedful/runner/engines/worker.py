"""The process of a local worker: `python -m heedful.runner.engines.worker DESCRIPTOR PARENT`.

Nothing heavy is imported before the parent is watched: one that dies meanwhile would leave a
worker behind that nobody ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection


def serve(line: Connection) -> None:
    """Jobs until the line is closed, which it is too when the parent is gone."""
    from heedful.runner.engines.board import attempt

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


if __name__ == "__main__":
    descriptor, parent = map(int, sys.argv[1:])
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    serve(Connection(descriptor))
