"""Registries: the names of one kind of entry, each with the module that defines it.

A registry is a literal dict; modules are imported when an entry is asked for. Old names are
aliases: they resolve to the entry, and only the entry's own name is listed.

Plugins add to an open registry from a script (`heedful.extend`) or an installed package, which
names its entries in its own pyproject.toml; nothing of it is imported before one of them is asked
for:

    [project.entry-points."heedful.saliency"]
    embedding_norm = "my_package.norms:ENTRY"
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from heedful.entries import Entry
from heedful.errors import HeedfulError, unknown_name

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Registry(Generic[E]):
    """The names of one `kind` of entry, each with its module: `ENTRY` there, or what a colon
    names (a dict of entries is looked up by name)."""

    kind: str
    entry_class: type[E]
    modules: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __contains__(self, name: object) -> bool:
        return name in self.modules or name in self.aliases

    def __getitem__(self, name: str) -> E:
        name = self.aliases.get(name, name)
        if name not in self.modules:
            raise unknown_name(self.kind, name, list(self.modules))
        module, _, constant = self.modules[name].partition(":")
        value = getattr(import_module(module), constant or "ENTRY")
        entry: E = value[name] if isinstance(value, Mapping) else value
        return entry


@dataclass(frozen=True)
class OpenRegistry(Registry[E]):
    """Our own entries, those `added` in this process, and those of installed packages.

    A name stands for one entry: where two would have it, whoever asks is told. `check` refuses a
    plugin's entry that lacks what its kind must say.
    """

    added: dict[str, E] = field(default_factory=dict)
    check: Callable[[E], None] = lambda entry: None

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.modules, *self.added, *self._offers())))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.added or name in self._offers()

    def __getitem__(self, name: str) -> E:
        name = self.aliases.get(name, name)
        offers = self._offers().get(name, ())
        self._refuse_duplicates(name, offers)
        if name in self.modules:
            return super().__getitem__(name)
        if name in self.added:
            return self.added[name]
        if not offers:
            raise unknown_name(self.kind, name, list(self))
        return self._loaded(name, offers[0])

    def plugins(self) -> list[str]:
        """The names that this process or an installed package gives, our own among them where a
        package takes one of them."""
        return list(dict.fromkeys((*self.added, *self._offers())))

    def add(self, entry: E) -> None:
        """An entry of this process. Added again from the same place it takes its own place: so
        does the cell of a notebook that is run twice."""
        check_name(self.kind, entry.name)
        self.check(entry)
        known = self.added.get(entry.name)
        again = known is not None and _place(known) == _place(entry)
        if entry.name in self and not again:
            raise HeedfulError(
                f"there is a {self.kind} {entry.name!r} already: give yours another name."
            )
        self.added[entry.name] = entry

    def _offers(self) -> dict[str, tuple[EntryPoint, ...]]:
        return _installed(f"heedful.{self.kind}", tuple(sys.path))

    def _refuse_duplicates(self, name: str, offers: tuple[EntryPoint, ...]) -> None:
        owners = [*(["Heedful"] if name in self.modules else []), *map(package, offers)]
        if len(owners) > 1:
            raise HeedfulError(
                f"the {self.kind} {name!r} is named by {' and by '.join(owners)}: uninstall one "
                f"of these packages, or ask its authors for another name."
            )

    def _loaded(self, name: str, offer: EntryPoint) -> E:
        check_name(self.kind, name)
        entry = load(offer, self.kind)
        if not isinstance(entry, self.entry_class) or entry.name != name:
            raise HeedfulError(
                f"{offer.value!r} of the package {package(offer)} is no "
                f"heedful.extending.{self.entry_class.__name__} with the name {name!r}: ask its "
                f"authors, or uninstall it."
            )
        loaded = replace(entry, origin=package(offer))
        self.check(loaded)
        return loaded


def places(package: str, names: Mapping[str, str]) -> dict[str, str]:
    """Where a registry finds its entries: in the `ENTRIES` of a package's modules, which are given
    with the names of their entries. A module that is named like its only entry has an `ENTRY`."""
    return {
        name: f"{package}.{module}" + ":ENTRIES" * (some != module)
        for module, some in names.items()
        for name in some.split()
    }


def check_name(kind: str, name: str) -> None:
    """Commas, colons and blanks have a meaning where names are typed."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise HeedfulError(
            f"a {kind} cannot be called {name[:80]!r}: use letters, digits, _ and - only."
        )


def _place(entry: Entry) -> tuple[str, str]:
    make = entry.make
    return getattr(make, "__module__", ""), getattr(make, "__qualname__", "")


def package(offer: EntryPoint) -> str:
    """The package an entry point came with."""
    return offer.dist.name if offer.dist is not None else offer.value.partition(".")[0]


def load(offer: EntryPoint, kind: str) -> Any:
    """What it names; a package that cannot be imported may fail in any way it likes."""
    try:
        return offer.load()
    except Exception as error:  # somebody else's code: it may fail in any way
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
        raise HeedfulError(
            f"the {kind} {offer.name!r} of the package {package(offer)} cannot be imported "
            f"({why}): fix the package or uninstall it."
        ) from error


@lru_cache(maxsize=64)
def _installed(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """By name; a name that several packages give has several. Read once: where packages are looked
    for decides what is there."""
    offers: dict[str, tuple[EntryPoint, ...]] = {}
    for offer in entry_points(group=group):
        offers[offer.name] = (*offers.get(offer.name, ()), offer)
    return offers
