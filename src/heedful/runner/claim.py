"""One process at a time on one run: whoever comes second waits, and then finds it done.

This only saves work. Without it (a file system that knows no locks) two processes would do
the same thing twice, and the store keeps the first. A process that dies lets go.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heedful.store import Store


@contextmanager
def claimed(store: Store, key: str) -> Iterator[None]:
    path = store.scratch(f"{key}.claim") / "lock"
    descriptor = _lock(path)
    try:
        yield
    finally:
        if descriptor is not None:
            _let_go(path, descriptor)


def _lock(path: Path) -> int | None:
    """A lock on the file that is there now: it may have been removed while we waited."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
        except FileNotFoundError:  # the last owner tidied up in between
            continue
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            os.close(descriptor)
            return None
        if _same(path, descriptor):
            return descriptor
        os.close(descriptor)


def _same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _let_go(path: Path, descriptor: int) -> None:
    try:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    except OSError:
        pass  # somebody else waits there
    finally:
        os.close(descriptor)
