"""Pieces, and the catalogues that name them.

A piece (an encoder, an edit, a probe, a corpus, …) is one file with one `PIECE`
value that states its own facts. A folder's catalogue is a literal dict from names
to modules; modules are imported when a piece is asked for, never before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.errors import unknown_name

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
    package it came with, or the code. `prepare` is how a corpus of such an origin is prepared
    (a `PrepareSpec`); our own say it as `DEFAULTS` beside their piece.
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
        piece: Piece = getattr(import_module(module), constant or "PIECE")
        return piece
