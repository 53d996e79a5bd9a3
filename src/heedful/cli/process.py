"""The process around a command: its streams, folder, Ctrl-C and end; its errors as sentences."""

from __future__ import annotations

import atexit
import errno
import io
import os
import re
import resource
import select
import signal
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import NoReturn

from heedful.errors import HeedfulError

FILES = 128
"""That must be allowed to be open: other libraries end the process where they find none left."""
_IMPORTING = "<frozen importlib._bootstrap>"
_STREAMS = ("stdin", "stdout", "stderr")
_CURSOR = b"\x1b[?25h"  # shown again: a bar may have hidden it
_LONG = re.compile(r"[^\s/]{160,}")
_NO_MEMORY = re.compile(r"allocate memory|out of memory|bad_alloc", re.I)
_VARIABLES = ("HEEDFUL_STORE", "HEEDFUL_DATA", "HEEDFUL_CACHE")


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


def check_typed(arguments: Iterable[str]) -> None:
    """What no text can hold: bytes that are no UTF-8 reach us as halves of characters."""
    for text in arguments:
        _check(text, "what was typed", "write it again, or rename the file")
    for name in _VARIABLES:
        _check(os.environ.get(name, ""), name, "rename what it names")


def _check(text: str, what: str, fix: str) -> None:
    if "\0" in text:
        raise HeedfulError(f"{what} holds a NUL character ({text!r}): leave it out.")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise HeedfulError(f"{what} holds half of a character ({text!r}), no UTF-8: {fix}.")


def usage(error: Exception) -> str:
    """What is wrong with a command line, and whose help says more."""
    said = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "heedful"
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", " ".join(said.split()))
    return f"{message.rstrip('.')}: see `{verb} --help`."


def refusal(error: Exception) -> str | None:
    """The sentence for an error that whoever typed can fix; None where it is a bug of ours."""
    if isinstance(error, HeedfulError):
        return str(error)
    if isinstance(error, OSError):  # a path that cannot be read or written, a full disk
        return _refused_by_system(error)
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error))  # torch's way
    ):
        return "there is not enough memory: give fewer or shorter texts, or a smaller model."
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] != "heedful":
        return _missing(error)  # a module of our own would be our fault
    return None


def _refused_by_system(error: OSError) -> str:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open at once: allow more of them (`ulimit -n 1024`)."
    if error.errno == errno.ENOMEM:
        return "there is not enough memory: end other programs, or allow more of it."
    what = error.strerror or str(error)
    where = f" at {error.filename}" if error.filename else ""
    long = error.errno == errno.ENAMETOOLONG
    return f"{what}{where}: {'give a shorter one' if long else 'fix the path or make room'}."


def _missing(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name} is missing: `heedful doctor` says what brings it."
    why = str(error).rstrip(".")
    return (
        f"a package cannot be loaded ({why}): allow more memory and open files, or install it anew."
    )


def one_line(message: str) -> str:
    """A sentence stays one when what it quotes is long or has lines."""
    line = re.sub(r"\s*[\n\r\t\v\f]\s*", " ", message)
    return _LONG.sub(lambda found: f"{found[0][:80]}…{found[0][-20:]}", line)
