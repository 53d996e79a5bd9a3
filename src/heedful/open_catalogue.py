"""Catalogues that strangers add to: from a script (`heedful.extend`) or an installed package.

A package names its pieces in its own pyproject.toml, and nothing of it is imported before one
of them is asked for:

    [project.entry-points."heedful.saliency"]
    embedding_norm = "my_package.norms:PIECE"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint

from heedful.catalogue import Catalogue, Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.installed import installed, load, package


def _any(piece: Piece) -> None:
    """Nothing is asked of a piece."""


@dataclass(frozen=True)
class OpenCatalogue(Catalogue):
    """Our own pieces, those that were `added` in this process, and those of installed packages.
    A name stands for one piece: where two would have it, whoever asks is told. `check` refuses a
    piece that is not our own and lacks what its kind must say."""

    added: dict[str, Piece] = field(default_factory=dict)
    check: Callable[[Piece], None] = _any

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.modules, *self.added, *self._offers())))

    def __contains__(self, name: object) -> bool:
        return name in self.modules or name in self.added or name in self._offers()

    def __getitem__(self, name: str) -> Piece:
        offers = self._offers().get(name, ())
        self._refuse_twins(name, offers)
        if name in self.modules:
            return super().__getitem__(name)
        if name in self.added:
            return self.added[name]
        if not offers:
            raise unknown_name(self.kind, name, list(self))
        return self._loaded(name, offers[0])

    def add(self, piece: Piece) -> None:
        """A piece of this process. Added again from the same place it takes its own place: so
        does the cell of a notebook that is run twice."""
        check_name(self.kind, piece.name)
        self.check(piece)
        known = self.added.get(piece.name)
        again = known is not None and _place(known) == _place(piece)
        if piece.name in self and not again:
            raise HeedfulError(
                f"there is a {self.kind} {piece.name!r} already: give yours another name."
            )
        self.added[piece.name] = piece

    def _offers(self) -> dict[str, tuple[EntryPoint, ...]]:
        return installed(f"heedful.{self.kind}")

    def _refuse_twins(self, name: str, offers: tuple[EntryPoint, ...]) -> None:
        owners = [*(["Heedful"] if name in self.modules else []), *map(package, offers)]
        if len(owners) > 1:
            raise HeedfulError(
                f"the {self.kind} {name!r} is named by {' and by '.join(owners)}: uninstall one "
                f"of these packages, or ask its authors for another name."
            )

    def _loaded(self, name: str, offer: EntryPoint) -> Piece:
        check_name(self.kind, name)
        piece = load(offer, self.kind)
        if not isinstance(piece, Piece) or piece.name != name:
            raise HeedfulError(
                f"{offer.value!r} of the package {package(offer)} is no heedful.Piece with the "
                f"name {name!r}: ask its authors, or uninstall it."
            )
        loaded = replace(piece, origin=package(offer))
        self.check(loaded)
        return loaded


def check_name(kind: str, name: str) -> None:
    """Commas, colons and blanks have a meaning where names are typed."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise HeedfulError(
            f"a {kind} cannot be called {name[:80]!r}: use letters, digits, _ and - only."
        )


def _place(piece: Piece) -> tuple[str, str]:
    make = piece.make
    return getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
