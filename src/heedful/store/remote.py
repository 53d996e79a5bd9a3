"""Finished runs at a URL, an object each: `runs/<key>.tar`.

An object store shows an object when it is whole. Anywhere else it is written beside its place
and moved there. So two writers of one key never mix, and no reader sees half of one, unless the
place itself loses bytes; and that is found by the run's digests.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.store.files import UNFINISHED, why
from heedful.store.record import KEY, Damaged, Problem, Record, parse_record
from heedful.store.tarred import BROKEN, read_record

_SUFFIX = ".tar"
_ATOMIC = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "r2", "tos"}
"""Protocols of object stores: no temporary name, which might take a right to delete."""
_CHUNK = 1 << 22
_HEADS = (1 << 16, 1 << 24)
"""Bytes from the beginning in which a record is looked for."""
_REACH = "check its address, your account and the network, or mend --store, and start again"
_KEPT = "the run is kept on this machine: mend that, and the next start uploads it"


class Remote:
    """What is there was whole when it was uploaded. Nothing here writes to this machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, root = _file_system(url)
        self._folder = f"{root.rstrip('/')}/runs"
        self._whole = url.partition("://")[0] in _ATOMIC
        self._known: set[str] | None = None

    def keys(self) -> list[str]:
        """As of now."""
        names = self._names()
        if any(map(KEY.fullmatch, names)):
            raise HeedfulError(
                f"{self.url} holds runs as folders: give an ordinary folder without a protocol, or "
                f"carry the runs with `heedful store pack` and `unpack`."
            )
        packed = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
        found = sorted(filter(KEY.fullmatch, packed))
        self._known = {*found, *(self._known or ())}
        return found

    def has(self, key: str) -> bool:
        """What was there once is believed to be; what was not is asked for again, since others
        may have brought it."""
        if not KEY.fullmatch(key):
            return False
        if self._known is None:
            self.keys()
        assert self._known is not None
        if key not in self._known and self._size(self._object(key)) is not None:
            self._known.add(key)
        return key in self._known

    def read(self, key: str) -> Iterator[bytes]:
        """The object's bytes; fewer than it has are an error."""
        with self._asking(f"read run {key}"):
            size = self._size(self._object(key))
            with self._files.open(self._object(key), "rb") as stream:
                got = 0
                while chunk := stream.read(_CHUNK):
                    got += len(chunk)
                    yield chunk
            if size is None or got != size:
                raise EOFError(f"the connection broke off after {got} bytes")

    def record(self, key: str) -> Record:
        """What a run says of itself, without the rest of it."""
        for size in _HEADS:
            with self._asking(f"read run {key}"):
                head = self._files.cat_file(self._object(key), start=0, end=size)
            with suppress(*BROKEN):
                return parse_record(key, read_record(head, key))
        raise Damaged(key, cut_off(self.url))

    def send(self, key: str, pack: Path) -> None:
        """Whole or not at all. Whoever was first stays."""
        target = self._object(key)
        name = target if self._whole else f"{target}.{uuid.uuid4().hex[:12]}{UNFINISHED}"
        with self._asking(f"upload run {key}", _KEPT):
            try:
                self._put(pack, name)
                if name != target:
                    self._move(name, target, pack.stat().st_size)
            except BaseException:
                if name != target:  # which somebody else may have brought
                    self._try_to_remove(name)
                raise
        self._known = {key, *(self._known or ())}

    def remove(self, key: str) -> None:
        with self._asking(f"remove run {key}"):
            self._files.rm(self._object(key))
        if self._known is not None:
            self._known.discard(key)

    def clear(self) -> list[str]:
        """Remove what uploads left that did not end; returns the names."""
        left = sorted(name for name in self._names() if name.endswith(UNFINISHED))
        with self._asking("remove unfinished uploads"):
            for name in left:
                self._files.rm(f"{self._folder}/{name}")
        return left

    def _object(self, key: str) -> str:
        return f"{self._folder}/{key}{_SUFFIX}"

    def _names(self) -> list[str]:
        with self._asking("list the runs"):
            self._files.invalidate_cache()
            try:
                paths = self._files.ls(self._folder, detail=False)
            except FileNotFoundError:
                return []
        return [str(path).rpartition("/")[2] for path in paths]

    def _size(self, path: str) -> int | None:
        """None where nothing is. fsspec's `exists` says that also when nobody answers."""
        with self._asking("look for a run"):
            self._files.invalidate_cache()
            try:
                return int(self._files.info(path)["size"])
            except FileNotFoundError:
                return None

    def _put(self, pack: Path, name: str) -> None:
        if not self._whole:
            self._files.makedirs(self._folder, exist_ok=True)
        self._files.put_file(str(pack), name)

    def _move(self, name: str, target: str, size: int) -> None:
        """A file system that does not replace files refuses where somebody else was first."""
        arrived = self._size(name)
        if arrived != size:
            raise EOFError(f"{arrived or 0} of {size} bytes arrived")
        if self._size(target) is None:
            try:
                self._files.mv(name, target)
                return
            except Exception:
                if self._size(target) != size:
                    raise
        self._try_to_remove(name)

    def _try_to_remove(self, name: str) -> None:
        with suppress(Exception):
            self._files.rm(name)

    @contextmanager
    def _asking(self, doing: str, fix: str = _REACH) -> Iterator[None]:
        try:
            yield
        except HeedfulError:
            raise
        except Exception as error:
            raise HeedfulError(f"cannot {doing} at {self.url}: {why(error)}; {fix}.") from error


def cut_off(url: str) -> Problem:
    return Problem(f"its pack at {url} was cut off or changed")


def _file_system(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        raise HeedfulError(
            f"the store {url} needs another package: {why(error)}, or mend --store."
        ) from error
    except Exception as error:
        raise HeedfulError(f"cannot open the store {url}: {why(error)}; mend --store.") from error
    return files, str(root)
