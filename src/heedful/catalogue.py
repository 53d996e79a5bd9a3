"""Pieces, and the catalogues that name them.

A piece (an encoder, an edit, a probe, a corpus, …) is a value that states its own facts: the
`PIECE` of its module, or what a colon names there (`module:NAME`; a dict of pieces is looked up by
name). A folder's catalogue is a literal dict; modules are imported when a piece is asked for.

Others add to an open catalogue from a script (`heedful.extend`) or an installed package, which
names its pieces in its own pyproject.toml; nothing of it is imported before one of them is asked
for:

    [project.entry-points."heedful.saliency"]
    embedding_norm = "my_package.norms:PIECE"
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError, unknown_name

Range = tuple[float, float]
"""The least and the greatest a number can be."""
SHARE: Range = (0.0, 1.0)
SIGNED: Range = (-1.0, 1.0)
LN2: Range = (0.0, math.log(2))
PERCENT: Range = (0.0, 100.0)
NOT_NEGATIVE: Range = (0.0, math.inf)
ANY: Range = (-math.inf, math.inf)
RESAMPLES: Range = (1, 100_000)
"""Of a bootstrap."""


@dataclass(frozen=True)
class Measure:
    """One number a piece reports, and how to read it. Where a name ends in `*`, it stands for
    all that begin so. A `range` that is not known is left out. `papers` are keys of the
    bibliography."""

    description: str
    higher_is_better: bool | None = None
    signed: bool = False
    range: Range | None = None
    formula: str = ""
    papers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Role:
    """Another model that a probe needs beside the one on trial: what its specs have otherwise,
    how far its seed is from the base model's, and which role (`base`, or one named earlier)
    is its teacher. It keeps the base's loss terms but those named in `without`, and has `terms`
    more. Where the data lack what it `needs`, a probe does without it."""

    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    teacher: str = ""
    terms: tuple[Any, ...] = ()
    without: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


Roles = Callable[..., Mapping[str, Role]]
Depends = Callable[..., Mapping[str, str]]
Find = Callable[[Path | None], Mapping[str, Path]]


def _nothing(**params: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Piece:
    """The facts of one piece. `version` goes up whenever its results change.

    A corpus is of the `kind` single, pair or generation; one that reads files says with `find`
    where they are in a data folder, or where to get them, and reads none. A probe that compares
    models names their `roles`, by the parameters it is called with; one whose results depend on
    something that is installed says on which version (`depends`). A term of the loss that `needs`
    the `attention` itself is about how a model makes its weights. A probe that looks at each text
    by itself (`by_text`) may be given some of them at a time.

    What a reader of its numbers wants to know: the `formula`, their `range`, what a `higher` one
    means, what the `cost` grows with, and the `limits`, which is what they do not say.

    A saliency says what it `uses`: the perturbations it runs the model under, or whose result is
    its baseline, such as `("delete",)`; `"=operator"` stands for the value of its parameter
    `operator`, and `()` for none. No explanation is scored by a perturbation that it uses.

    `bounds` are the least and the greatest that a parameter of `make` may be
    (`heedful.parameters` holds them and the signature against what a user gives).

    A piece that is not Heedful's own has an `origin`, which the catalogue writes down: the
    package it came with, or the code. `prepare` is how a corpus is prepared (a `PrepareSpec`).
    """

    name: str
    description: str
    make: Callable[..., Any]
    version: int = 1
    paper: str = ""
    needs: tuple[str, ...] = ()
    sites: str = "any"
    signed: bool = False
    higher_is_better: bool | None = None
    measures: Mapping[str, Measure] = field(default_factory=dict)
    level: str = "tokens"
    kind: str = "single"
    roles: Roles = _nothing
    depends: Depends = _nothing
    by_text: bool = False
    licence: str = ""
    citation: str = ""
    formula: str = ""
    range: Range | None = None
    higher: str = ""
    cost: str = ""
    limits: str = ""
    origin: str = ""
    prepare: Any = None
    find: Find | None = None
    bounds: Mapping[str, Range] = field(default_factory=dict)
    uses: tuple[str, ...] | None = None

    @property
    def stranger(self) -> dict[str, str]:
        """What a key says of a piece beside its name and version: of our own, nothing."""
        return {"origin": self.origin} if self.origin else {}


def by_name(*pieces: Piece) -> dict[str, Piece]:
    """Several pieces of one module, for a catalogue's `module:PIECES`."""
    return {piece.name: piece for piece in pieces}


@dataclass(frozen=True)
class Catalogue:
    """Names of one kind of piece, each with its module: `PIECE` there, or what a colon names."""

    kind: str
    modules: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __contains__(self, name: object) -> bool:
        return name in self.modules

    def __getitem__(self, name: str) -> Piece:
        if name not in self.modules:
            raise unknown_name(self.kind, name, list(self.modules))
        module, _, constant = self.modules[name].partition(":")
        found = getattr(import_module(module), constant or "PIECE")
        piece: Piece = found[name] if isinstance(found, Mapping) else found
        return piece


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


def installed(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """By name; a name that several packages give has several."""
    return _installed(group, tuple(sys.path))


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
    """Read once: where packages are looked for decides what is found."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for offer in entry_points(group=group):
        found[offer.name] = (*found.get(offer.name, ()), offer)
    return found
