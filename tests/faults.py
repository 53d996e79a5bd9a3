"""A disk that fails at the k-th thing asked of it.

Every call that opens, writes, brings to disk, renames, makes or removes a file is a point. At
point `at` the fault happens: an error of the disk, or the death of the process. A write that
fails has written half of its bytes before, as a full disk does. Libraries that write without
Python (safetensors) are one point between two others; `test_store_fire` fills real disks too.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import tarfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from heedful.errors import HeedfulError

CALLS = ("mkdir", "rename", "replace", "fsync", "rmdir", "unlink", "sendfile", "chmod")
UNCHANGED = ("look", "fsync", "chmod")
"""Dying before one of these leaves what dying after it leaves."""


@dataclass
class Disk:
    """Counts the points that were passed; at the one that is `at`, it fails."""

    at: int
    fail: Callable[[], None]
    passed_over: tuple[str, ...] = ()
    points: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return len(self.points) >= self.at

    def point(self, name: str, before: Callable[[], object] = lambda: None) -> None:
        if name in self.passed_over:
            return
        self.points.append(name)
        if len(self.points) == self.at:
            before()
        if len(self.points) == self.at or self.dead:
            self.fail()

    @property
    def dead(self) -> bool:
        """The dead clean nothing up: whatever they still try fails."""
        return self.fail is pass_away and self.failed

    def counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            self.point(name)
            return call(*arguments, **options)

        return counting

    def opened(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(path: Any, flags: int, *arguments: Any, **options: Any) -> Any:
            self.point("open" if flags & os.O_CREAT else "look")
            return call(path, flags, *arguments, **options)

        return counting

    def opening(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            self.point("look" if mode in ("r", "rb") else "open")
            stream = call(path, mode, *arguments, **options)
            return _Stream(self, stream) if stream.writable() else stream

        return counting


class _Stream:
    """A file open for writing; it fails with half of the bytes written."""

    def __init__(self, disk: Disk, stream: Any) -> None:
        self._disk, self._stream = disk, stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: Any) -> int:
        self._disk.point("write", lambda: self._half(data))
        return int(self._stream.write(data))

    def close(self) -> None:
        if not self._stream.closed:
            self._stream.close()
            self._disk.point("close")

    def _half(self, data: Any) -> None:
        self._stream.write(data[: len(data) // 2])
        self._stream.flush()


@contextmanager
def failing(at: int, fail: Callable[[], None], passed_over: tuple[str, ...] = ()) -> Iterator[Disk]:
    disk = Disk(at, fail, passed_over)
    opening = disk.opening(io.open)
    with (
        mock.patch.object(os, "open", disk.opened(os.open)),
        mock.patch.multiple(os, **{name: disk.counted(name, getattr(os, name)) for name in CALLS}),
        mock.patch.object(io, "open", opening),
        mock.patch.object(builtins, "open", opening),
        mock.patch.object(tarfile, "bltn_open", opening),
    ):
        yield disk


def refuse(code: int = errno.ENOSPC) -> Callable[[], None]:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Dead(BaseException):
    """Nothing catches it, so nothing happens after it."""


def pass_away() -> None:
    """What a kill does, without a process of one's own, whose making takes long."""
    raise Dead


@dataclass(frozen=True)
class Work:
    """Something done in a folder that was prepared for it. `check` is held after every fault:
    nothing there is half, and the work can be done again."""

    do: Callable[[Path], object]
    check: Callable[[Path], object]
    prepare: Callable[[Path], object] = lambda place: None


def refused_everywhere(work: Work, places: Path, code: int) -> list[str]:
    """Each point of the work in turn fails, in a folder of its own; what is raised must be one
    sentence of ours. Returns the points."""
    for at in count(1):
        place = _prepared(work, places, at)
        with failing(at, refuse(code)) as disk:
            _do(work, place)
        if not disk.failed:
            return disk.points
        work.check(place)
    raise AssertionError


def dead_everywhere(work: Work, places: Path) -> int:
    """The same with work that ends there, at once and without a word. Returns how many points
    there are."""
    for at in count(1):
        place = _prepared(work, places, at)
        with failing(at, pass_away, UNCHANGED) as disk, suppress(Dead):
            work.do(place)
        if not disk.failed:
            return at - 1
        work.check(place)
    raise AssertionError


def killed_everywhere(work: Work, places: Path, step: int) -> int:
    """The same with a process that is killed there, at every `step`-th point."""
    for at in count(1, step):
        place = _prepared(work, places, at)
        if not in_a_child(partial(_die_at, at, work, place)):
            return at - 1
        work.check(place)
    raise AssertionError


def in_a_child(work: Callable[[], object]) -> bool:
    """Whether a forked process was killed while it worked; what it raises is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the child ended with {status}"
    return status != 0


def check_sentence(message: str) -> None:
    """One line that ends as a sentence does and shows no Python."""
    assert message.endswith(".") and "\n" not in message, message
    assert not any(word in message for word in ("Errno", "Error(", "Traceback")), message


def _do(work: Work, place: Path) -> None:
    try:
        work.do(place)
    except HeedfulError as error:
        check_sentence(str(error))


def _die_at(at: int, work: Work, place: Path) -> None:
    with failing(at, die, UNCHANGED):
        work.do(place)


def _prepared(work: Work, places: Path, at: int) -> Path:
    place = places / str(at)
    place.mkdir(parents=True)
    work.prepare(place)
    return place


@contextmanager
def one_sentence(match: str) -> Iterator[None]:
    with pytest.raises(HeedfulError, match=match) as caught:
        yield
    check_sentence(str(caught.value))
