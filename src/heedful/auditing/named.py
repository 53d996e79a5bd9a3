"""Explanations by name and parameters: `attention`, `attention:layer=0,head=3`."""

from __future__ import annotations

import ast
import inspect
import math
import re
from dataclasses import dataclass, replace
from typing import Any

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.saliency import SALIENCIES
from heedful.saliency.prior import Prior

GIVEN = ("model", "batch", "label", "target", "trace", "counts", "texts")


@dataclass(frozen=True)
class Named:
    """An explanation as the user wrote it, its piece, and the parameters after the colon."""

    name: str
    piece: Piece
    params: dict[str, Any]


def named(text: str) -> Named:
    base, colon, rest = text.partition(":")
    piece = SALIENCIES[base.strip()]
    params = dict(_pair(text, part) for part in rest.split(",")) if colon else {}
    made = inspect.signature(piece.make).parameters
    known = {name: each.default for name, each in made.items() if name not in GIVEN}
    for name, value in params.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise HeedfulError(f"{base!r} has no parameter {name!r}: its parameters are {listed}.")
        params[name] = _of_kind(base, name, value, known[name])
    return Named(text, piece, params)


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
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """Numbers, True, False and None as in Python; anything else is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _of_kind(base: str, name: str, value: Any, default: Any) -> Any:
    """A value like the default; what is left out by default (a head) is a number."""
    if value is None and default is None:
        return None
    like = 0 if default is None else default
    wanted = (int, float) if isinstance(like, float) else (type(like),)
    wrong = not isinstance(value, wanted) or isinstance(value, bool) != isinstance(like, bool)
    if not wrong and isinstance(like, float):  # a size, a share or a tolerance
        value = float(value)
        wrong = value < 0 or not math.isfinite(value)
    if wrong:
        raise HeedfulError(
            f"the parameter {name!r} of {base!r} is {value!r}: give a value like {like!r}."
        )
    return value
