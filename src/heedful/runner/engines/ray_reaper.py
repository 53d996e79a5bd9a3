"""The process that ends a Ray of our own: `python -m heedful.runner.engines.ray_reaper MARK`.

Ray's processes end each other, but not those that are just starting when Heedful is stopped or
killed. All of them have MARK in their environment, so none is missed and nobody else's is hit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex

import psutil

MARK = "HEEDFUL_OWN_RAY"
_QUIET = 0.5  # seconds without a process: none is about to start another
_PATIENCE = 20.0


@contextmanager
def own_processes() -> Iterator[None]:
    """Whatever is started within is gone afterwards, also when this process is killed."""
    mark = token_hex(16)
    command = [sys.executable, "-m", __name__, mark]
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
        for process in _marked(mark):
            seen = time.monotonic()
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.1)


def _marked(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # another user's, or gone
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == mark:
                yield process


if __name__ == "__main__":
    sys.stdin.buffer.read()  # until whoever started this closes it or is gone
    reap(sys.argv[1])
