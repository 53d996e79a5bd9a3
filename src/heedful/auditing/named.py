"""Explanations by name and parameters: `attention`, `attention:layer=0,head=3`."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.saliency import SALIENCIES

GIVEN = ("model", "batch", "label", "target", "trace")


@dataclass(frozen=True)
class Named:
    """An explanation as the user wrote it, its piece, and the parameters after the colon."""

    name: str
    piece: Piece
    params: dict[str, Any]


def named(text: str) -> Named:
    base, _, rest = text.partition(":")
    piece = SALIENCIES[base.strip()]
    params = dict(_pair(text, part) for part in rest.split(",")) if rest else {}
    known = [name for name in inspect.signature(piece.make).parameters if name not in GIVEN]
    for name in params:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise HeedfulError(f"{base!r} has no parameter {name!r}: its parameters are {listed}.")
    return Named(text, piece, params)


def _pair(text: str, part: str) -> tuple[str, Any]:
    name, sign, value = part.partition("=")
    if not sign or not name.strip():
        raise HeedfulError(f"{text!r} is no explanation: write name:parameter=value,…")
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """Numbers, True, False and None as in Python; anything else is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
