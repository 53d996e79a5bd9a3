"""Explanations by name and parameters: `attention`, `attention:layer=0,head=3`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from heedful.auditing.operators import distinct_operators
from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters, parameters_of, value_of
from heedful.removal import REMOVALS
from heedful.saliency import SALIENCIES, Prior
from heedful.types import Model

GIVEN = ("model", "batch", "label", "target", "trace", "counts", "texts")


@dataclass(frozen=True)
class Named:
    """An explanation as the user wrote it, its piece, and the parameters after the colon."""

    name: str
    piece: Piece
    params: dict[str, Any]

    @property
    def uses(self) -> tuple[str, ...]:
        """The perturbations that made it: as its piece declares them, with the values of the
        parameters it names. Padding counts as `zero`: its embedding is zero in our models."""
        values = _all_params(self)[1]
        names = [values[name[1:]] if name[:1] == "=" else name for name in self.piece.uses or ()]
        names = ["zero" if name == "pad" else name for name in names]
        return tuple(name for name in dict.fromkeys(names) if name in REMOVALS)


def uses_of(model: Model, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The perturbations that made each explanation, as this model has them; explanations that use
    none are left out."""
    found = {each.name: distinct_operators(model, each.uses) for each in map(named, names)}
    return {name: uses for name, uses in found.items() if uses}


def signed(names: Iterable[str]) -> tuple[str, ...]:
    """The explanations that say which class a word speaks for."""
    known = (each for each in map(named, names) if each.piece.signed)
    return tuple(each.name for each in known if not each.params.get("magnitude"))


def named(text: str) -> Named:
    base, colon, rest = text.partition(":")
    piece = SALIENCIES[base.strip()]
    params: dict[str, Any] = {}
    for name, value in (_pair(text, part) for part in rest.split(",") if colon):
        if name in params:
            raise HeedfulError(f"{text!r} gives {name!r} twice: give it once.")
        params[name] = value
    check_parameters(f"explanation {piece.name}", piece.make, params, piece.bounds, GIVEN)
    known = parameters_of(piece.make)
    whole = [name for name in params if isinstance(known[name].default, float)]
    return Named(text, piece, params | {name: float(params[name]) for name in whole})


def all_named(texts: Iterable[str]) -> list[Named]:
    """Each once, however its parameters are spelled: what is left out is the default."""
    found: list[Named] = []
    for each in map(named, texts):
        same = next((known for known in found if _all_params(known) == _all_params(each)), None)
        if same is not None:
            also = "" if same.name == each.name else f", also as {each.name!r}"
            raise HeedfulError(f"the explanation {same.name!r} is named twice{also}: name it once.")
        found.append(each)
    return found


def _all_params(each: Named) -> tuple[str, dict[str, Any]]:
    made = parameters_of(each.piece.make, GIVEN)
    return each.piece.name, {name: one.default for name, one in made.items()} | each.params


def names_in(text: str) -> list[str]:
    """Names separated by commas; a comma before `x=` belongs to the name before it."""
    parts = [part.strip() for part in re.split(r",(?!\s*[a-z_]+=)", text)]
    if not all(parts):
        raise HeedfulError(f"an explanation has no name in {text!r}: separate names by one comma.")
    return parts


def fitted(each: Named, prior: Prior) -> Named:
    """The prior counts words in all texts, not in the batch it happens to see."""
    if each.piece.name != "prior" or each.params.get("kind", "type") != "type":
        return each
    return replace(each, piece=prior.piece, params={})


def _pair(text: str, part: str) -> tuple[str, Any]:
    name, sign, value = part.partition("=")
    if not sign or not name.strip():
        raise HeedfulError(f"{text!r} is no explanation: write name:parameter=value,…")
    return name.strip(), value_of(value.strip())
