"""Bad input in one sentence, whatever it was that refused it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable

from heedful.errors import HeedfulError

_LONG = re.compile(r"[^\s/]{160,}")
_NO_MEMORY = re.compile(r"allocate memory|out of memory|bad_alloc", re.I)
_VARIABLES = ("HEEDFUL_STORE", "HEEDFUL_DATA", "HEEDFUL_CACHE")


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
    """The sentence for an error that whoever typed can mend; None where it is a bug of ours."""
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
    return f"{what}{where}: {'give a shorter one' if long else 'mend the path or make room'}."


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
