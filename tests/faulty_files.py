"""A file system far away that fails at the k-th thing asked of it: folders of this machine,
reached through fsspec as `faulty:///folder`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import fsspec
from fsspec.implementations.local import LocalFileSystem

from faults import Disk
from heedful.store import Store, store_at

CHANGES = ("makedirs", "put", "move", "remove")


class Strange(Exception):
    """Libraries of far file systems raise what they like."""


def strangely() -> None:
    raise Strange("the far side said no.\nand more of it")


def wordless() -> None:
    raise Strange


class FaultyFiles(LocalFileSystem):
    """Every call is a point of `disk`. An upload that fails has left half of its bytes."""

    protocol = "faulty"
    cachable = False
    disk: ClassVar[Disk] = Disk(0, strangely)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        text = path.removeprefix("faulty://") if isinstance(path, str) else path
        return super()._strip_protocol(text)

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        self.disk.point("list")
        return super().ls(path, detail=detail, **options)

    def info(self, path: str, **options: Any) -> Any:
        self.disk.point("look")
        return super().info(path, **options)

    def open(self, path: str, *arguments: Any, **options: Any) -> Any:
        self.disk.point("read")
        return super().open(path, *arguments, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.disk.point("makedirs")
        super().makedirs(path, exist_ok=exist_ok)

    def put_file(self, here: str, there: str, callback: Any = None, **options: Any) -> None:
        self.disk.point("put", lambda: half(Path(here), Path(there)))
        super().put_file(here, there)

    def mv(self, one: str, other: str, **options: Any) -> None:
        self.disk.point("move")
        super().mv(one, other)

    def rm(self, path: str, *arguments: Any, **options: Any) -> None:
        self.disk.point("remove")
        super().rm(path)


fsspec.register_implementation("faulty", FaultyFiles, clobber=True)
fsspec.register_implementation("nowhere", "no_such_package.Files", errtxt="Install no_such_package")


def half(here: Path, there: Path) -> None:
    there.write_bytes(here.read_bytes()[: here.stat().st_size // 2])


def faulty(folder: Path) -> str:
    return f"faulty://{folder}"


@contextmanager
def far_failing(at: int, fail: Callable[[], None], passed: tuple[str, ...] = ()) -> Iterator[Disk]:
    disk = Disk(at, fail, passed)
    with mock.patch.object(FaultyFiles, "disk", disk):
        yield disk


@contextmanager
def far_refusing(names: tuple[str, ...] = CHANGES) -> Iterator[None]:
    """As a place does whose account may only read."""

    class Refusing(Disk):
        def point(self, name: str, before: Callable[[], object] = lambda: None) -> None:
            if name in names:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with mock.patch.object(FaultyFiles, "disk", Refusing(0, strangely)):
        yield


def on_machine(cache: Path, url: str) -> Store:
    """The store as another machine would open it: with a cache of its own."""
    with mock.patch.dict(os.environ, HEEDFUL_CACHE=str(cache)):
        return store_at(url)
