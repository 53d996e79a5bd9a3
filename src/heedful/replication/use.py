"""One thing that was used, and the works it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from heedful.catalogue import Piece
from heedful.replication.mentions import keys_in


@dataclass(frozen=True)
class Use:
    """`what` is in words; `keys` are those of works; `missing` says what cannot be cited."""

    what: str
    keys: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def piece_use(kind: str, piece: Piece) -> Use:
    """A piece names its own works: the paper it is from, and where the method is from. Those of
    a stranger need no entry of ours: they are said as they stand."""
    what = f"{kind} {piece.name}"
    keys = [*keys_in(piece.paper), *keys_in(piece.citation)]
    return Use(what, tuple(dict.fromkeys(keys)))


def named(kind: str, name: str) -> Use:
    return Use(f"{kind} {name}", missing=(f"{kind} {name} is not installed here",))
