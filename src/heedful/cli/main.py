"""The entry point: every error a user can fix is one sentence and exit code 2.

Only the standard library is imported before Ctrl-C, closed streams and a missing folder are
taken care of.
"""

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
from types import FrameType
from typing import NoReturn

from heedful.errors import HeedfulError

__all__ = ["main"]

BAD, STOPPED, UNREAD = 2, 130, 141
"""Exit codes: a mistake, Ctrl-C, and a pipe that nobody reads any more (as of other tools)."""
FILES = 128
"""Files that must be allowed to be open: other libraries end the process where none is left."""
_FAREWELL = "\nstopped: what was finished is kept in the store, and the same command resumes."
_IMPORTING = "<frozen importlib._bootstrap>"
_STREAMS = ("stdin", "stdout", "stderr")
_CURSOR = b"\x1b[?25h"  # shown again: a bar may have hidden it
_LONG = re.compile(r"[^\s/]{160,}")
_NO_MEMORY = re.compile(r"allocate memory|out of memory|bad_alloc", re.I)
_VARIABLES = ("HEEDFUL_STORE", "HEEDFUL_DATA", "HEEDFUL_CACHE")


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code and never shows a traceback for bad input."""
    typed = sys.argv[1:] if arguments is None else arguments
    try:
        _check_typed(typed)
        from heedful.cli.app import perform

        code = perform(typed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            return UNREAD
        sentence = _refusal(error)
        if sentence is None:
            raise
        return _refuse(sentence)
    return code


def run() -> None:
    """The process `heedful`."""
    try:
        sentence = _prepare()
        code = main() if sentence is None else _refuse(sentence)
    except KeyboardInterrupt:
        code = _stopped()
    _end(code, at_once=code in (BAD, STOPPED))


def _stopped() -> int:
    _say(_FAREWELL)
    return STOPPED


def _refuse(message: str) -> int:
    from heedful.cli.output import harmless

    _say(harmless(f"error: {_one_line(message)}"))
    return BAD


def _say(line: str) -> None:
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody can be told


def _prepare() -> str | None:
    """Signals, streams and limits of a process of our own; returns what it cannot work with."""
    signal.signal(signal.SIGINT, _interrupt)
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


def _nobody_reads() -> bool:
    """Whether standard output is a pipe whose reader has gone."""
    with suppress(OSError, ValueError):
        look = select.poll()
        look.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in look.poll(0))
    return False


def _end(code: int, at_once: bool) -> NoReturn:
    """`at_once` after a failure: Python's own shutdown may need memory that is not there, and
    crashes while a thread is inside a model."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be told
    for number in (1, 2):
        _flush(number)
    if not at_once and not any(thread.daemon for thread in threading.enumerate()):
        sys.exit(code)
    _put_nothing(2)  # whatever fails now was told already
    atexit._run_exitfuncs()  # what was to be tidied up still is
    os._exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """During an import, end at once: some libraries abort when they are stopped halfway, some hide
    it and fail later. Nothing is being written then."""
    while frame is not None and frame.f_code.co_filename != _IMPORTING:
        frame = frame.f_back
    if frame is None:
        raise KeyboardInterrupt
    with suppress(OSError):
        os.write(2, (_CURSOR if os.isatty(2) else b"") + _FAREWELL.encode() + b"\n")
    os._exit(STOPPED)


def _open_streams() -> list[int]:
    """Open closed streams on the null device, so that no file takes their number."""
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
    """Without a second complaint of Python's about what cannot be written."""
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


def _check_typed(arguments: Iterable[str]) -> None:
    """Refuse bytes that are not UTF-8, which Python hands over as halves of characters."""
    for text in arguments:
        _check(text, "what was typed", "write it again, or rename the file")
    for name in _VARIABLES:
        _check(os.environ.get(name, ""), name, "rename what it names")


def _check(text: str, what: str, fix: str) -> None:
    if "\0" in text:
        raise HeedfulError(f"{what} holds a NUL character ({text!r}): leave it out.")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise HeedfulError(f"{what} holds half of a character ({text!r}), no UTF-8: {fix}.")


def _refusal(error: Exception) -> str | None:
    """The sentence for an error that the user can fix; None for a bug of ours."""
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


def _one_line(message: str) -> str:
    """The message on one line, with very long words shortened."""
    line = re.sub(r"\s*[\n\r\t\v\f]\s*", " ", message)
    return _LONG.sub(lambda found: f"{found[0][:80]}…{found[0][-20:]}", line)


if __name__ == "__main__":
    run()
