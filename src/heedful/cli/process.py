"""The process around a command: its streams, its folder, its open files, Ctrl-C and its end."""

from __future__ import annotations

import atexit
import io
import os
import resource
import select
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import NoReturn

FILES = 128
"""That must be allowed to be open: other libraries end the process where they find none left."""
_IMPORTING = "<frozen importlib._bootstrap>"
_STREAMS = ("stdin", "stdout", "stderr")
_CURSOR = b"\x1b[?25h"  # shown again: a bar may have hidden it


def prepare(farewell: str, stopped: int) -> str | None:
    """For a process of our own, before anything else. Returns what cannot be mended here.
    Whoever stops it is told `farewell`, and the exit code is `stopped`."""
    signal.signal(signal.SIGINT, partial(_interrupt, farewell, stopped))
    closed = _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what it cannot hold is written as its number
            stream.reconfigure(errors="backslashreplace")
    if 1 in closed:
        return "standard output is closed: send it to a file, or to /dev/null."
    try:
        os.getcwd()
    except OSError:
        return "the current folder is gone: change to another one."
    return _allow_files()


def nobody_reads() -> bool:
    """Of standard output, which may be no pipe at all."""
    with suppress(OSError, ValueError):
        look = select.poll()
        look.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in look.poll(0))
    return False


def end(code: int, at_once: bool) -> NoReturn:
    """`at_once` after a failure: Python's own end may want memory that is not there. It crashes,
    too, where a thread is in the middle of a model."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be told
    for number in (1, 2):
        _flush(number)
    if not at_once and not any(thread.daemon for thread in threading.enumerate()):
        sys.exit(code)
    _put_nothing(2)  # whatever fails now was told already
    atexit._run_exitfuncs()  # what was to be tidied up still is
    os._exit(code)


def _interrupt(farewell: str, stopped: int, number: int, frame: FrameType | None) -> None:
    """A module that is stopped halfway through its import is broken: some libraries abort, some
    hide it and fail later. Nothing is being written then, so the process may end there."""
    while frame is not None and frame.f_code.co_filename != _IMPORTING:
        frame = frame.f_back
    if frame is None:
        raise KeyboardInterrupt
    with suppress(OSError):
        os.write(2, (_CURSOR if os.isatty(2) else b"") + farewell.encode() + b"\n")
    os._exit(stopped)


def _open_streams() -> list[int]:
    """Those that are closed are opened on nothing, lest a file takes their number."""
    closed = [number for number, name in enumerate(_STREAMS) if getattr(sys, name) is None]
    for number in closed:
        _put_nothing(number)
        stream = open(number, "w" if number else "r", encoding="utf-8")  # noqa: SIM115
        setattr(sys, _STREAMS[number], stream)
    return closed


def _allow_files() -> str | None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= FILES:
        return None
    if hard == resource.RLIM_INFINITY or hard >= FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
        return None
    return f"only {hard} files may be open at once: allow {FILES} or more with `ulimit -n`."


def _flush(number: int) -> None:
    """What cannot be written was told already, or nobody listens: Python would tell it again."""
    stream = getattr(sys, _STREAMS[number])
    try:
        stream.flush()
    except OSError:
        _put_nothing(number)
        with suppress(OSError):
            stream.flush()


def _put_nothing(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
