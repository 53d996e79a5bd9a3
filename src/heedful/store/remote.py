"""A store at a URL, with an ordinary one of this machine in front of it.

Runs are looked for here, then there; what is fetched stays here. A finished run appears here
first and is then uploaded, and whatever is here and not there is uploaded when it is used: so
an upload that failed loses nothing. Unfinished work never leaves this machine.

There each run is an object, `runs/<key>.tar`. An object store shows an object when it is whole.
Anywhere else it is written beside its place and moved there. So two writers of one key never mix,
and no reader sees half of one, unless the place itself loses bytes; and that is found by the run's
digests.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.store.files import UNFINISHED, sync_tree, why
from heedful.store.pack import BROKEN, read_record, read_tar, write_tar
from heedful.store.run import KEY, Damaged, Problem, Record, Run, parse_record, run_key
from heedful.store.store import Place, Store, Writer, cache_folder, url_of

_SUFFIX = ".tar"
_ATOMIC = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "r2", "tos"}
"""Protocols of object stores: no temporary name, which might take a right to delete."""
_CHUNK = 1 << 22
_HEADS = (1 << 16, 1 << 24)
"""Bytes from the beginning in which a record is looked for."""
_REACH = "check its address, your account and the network, or fix --store, and start again"
_KEPT = "the run is kept on this machine: fix that, and the next start uploads it"


class Remote:
    """What is there was whole when it was uploaded. Nothing here writes to this machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, root = _file_system(url)
        self._folder = f"{root.rstrip('/')}/runs"
        self._whole = url.partition("://")[0] in _ATOMIC
        self._known: set[str] = set()
        self._listed = False

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
        self._known.update(found)
        self._listed = True
        return found

    def has(self, key: str) -> bool:
        """What was there once is believed to be; what was not is asked for again, since others
        may have brought it."""
        if not KEY.fullmatch(key):
            return False
        if not self._listed:
            self.keys()
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
                if not self._whole:
                    self._files.makedirs(self._folder, exist_ok=True)
                self._files.put_file(str(pack), name)
                if name != target:
                    self._move(name, target, pack.stat().st_size)
            except BaseException:
                if name != target:  # which somebody else may have brought
                    self._try_to_remove(name)
                raise
        self._known.add(key)

    def remove(self, key: str) -> None:
        with self._asking(f"remove run {key}"):
            self._files.rm(self._object(key))
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
            f"the store {url} needs another package: {why(error)}, or fix --store."
        ) from error
    except Exception as error:
        raise HeedfulError(f"cannot open the store {url}: {why(error)}; fix --store.") from error
    return files, str(root)


def store_at(place: Place | Store) -> Store:
    """The store of a folder or of a URL that fsspec knows (`s3://bucket/runs`). One that is open
    is taken as it is: so whoever asks for a store can be given any of the three."""
    if isinstance(place, Store):
        return place
    url = url_of(place)
    return Store(place) if url is None else RemoteStore(url)


class RemoteStore(Store):
    _option = "HEEDFUL_CACHE"

    def __init__(self, url: str) -> None:
        super().__init__(cache_folder(url))
        self._remote = Remote(url)

    @property
    def place(self) -> Place:
        return self._remote.url

    def has(self, key: str) -> bool:
        self._bring(key)
        return super().has(key)

    def open(self, key: str) -> Run:
        self._bring(key)
        run = super().open(key)
        self._send(key)
        return run

    def keys(self, kind: str | None = None) -> list[str]:
        """Those here and those there."""
        there = self._remote.keys()
        wanted = [key for key in there if kind is None or key.startswith(f"{kind}-")]
        return sorted({*super().keys(kind), *wanted})

    def record(self, key: str) -> Record:
        """Of a run that is not here only the beginning is fetched."""
        return super().open(key).record if self._is_here(key) else self._remote.record(key)

    @contextmanager
    def writing(self, kind: str, facts: Mapping[str, Any]) -> Iterator[Writer]:
        with super().writing(kind, facts) as writer:
            yield writer
        self._send(run_key(kind, facts))

    def adopt(self, folder: Path) -> bool:
        new = super().adopt(folder)
        self._send(folder.name)
        return new

    def problems(self) -> dict[str, Problem]:
        """Every run there is fetched to be looked at, and not kept."""
        return {**self._problems_there(), **self._problems_here()}

    def remove(self, key: str) -> None:
        if self._remote.has(key):
            self._remote.remove(key)
        if self._is_here(key):
            self._remove_here(key)

    def clear_damaged(self) -> list[str]:
        lost = [key for key, problem in self._problems_there().items() if problem.lost]
        for key in lost:
            self._remote.remove(key)
        return sorted({*lost, *super().clear_damaged()})

    def clear_scratch(self) -> list[str]:
        """Also what uploads left there that did not end."""
        return super().clear_scratch() + self._remote.clear()

    def _publish(self, folder: Path, key: str) -> None:
        """Whoever was first elsewhere stays. If nobody can be asked, ours is safe before that
        is said."""
        try:
            self._bring(key)
        finally:
            super()._publish(folder, key)

    def _bring(self, key: str) -> None:
        """What is there, here."""
        if self._is_here(key) or not self._remote.has(key):
            return
        with self.building(key) as folder:
            problem = self._fetch(key, folder)
            if problem:
                raise Damaged(key, problem)
            sync_tree(folder / key)
            super()._publish(folder / key, key)

    def _send(self, key: str) -> None:
        """What is here, there."""
        if self._remote.has(key):
            return
        with self.building(key) as folder:
            pack = folder / "pack"
            with pack.open("wb") as stream:
                write_tar([self._runs / key], stream)
            self._remote.send(key, pack)

    def _fetch(self, key: str, folder: Path) -> Problem | None:
        """Into a folder; what is wrong with it."""
        with (folder / "pack").open("w+b") as stream:
            for chunk in self._remote.read(key):
                stream.write(chunk)
            try:
                read_tar(stream, folder)
            except BROKEN:
                return cut_off(str(self.place))
        (folder / "pack").unlink()
        return Run(folder / key).problem()

    def _problems_there(self) -> dict[str, Problem]:
        found = {}
        for key in self._remote.keys():
            with self.building(key) as folder:
                problem = self._fetch(key, folder)
            if problem:
                found[key] = problem
        return found
