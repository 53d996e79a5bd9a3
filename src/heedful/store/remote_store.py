"""A store at a URL, with an ordinary one of this machine in front of it.

Runs are looked for here, then there; what is fetched stays here. A finished run appears here
first and is then uploaded, and whatever is here and not there is uploaded when it is used: so
an upload that failed loses nothing. Unfinished work never leaves this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heedful.store.files import sync_tree
from heedful.store.keys import run_key
from heedful.store.places import Place, cache_folder, url_of
from heedful.store.record import Damaged, Problem, Record
from heedful.store.remote import Remote, cut_off
from heedful.store.run import Run
from heedful.store.store import Store, Writer
from heedful.store.tarred import BROKEN, read_tar, write_tar


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
