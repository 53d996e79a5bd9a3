"""Label values of any kind to classes 0..C-1, in an order that depends on the values only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from heedful.errors import HeedfulError, listed, short


def class_names(values: Iterable[Any], where: str) -> tuple[str, ...]:
    """The sorted class names: numerically where all are whole numbers, else as strings.

    A CSV file's "10" and a JSON file's 10 are the same class.
    """
    names = {label_name(value, where, row) for row, value in enumerate(values, 1)}
    if len(names) < 2:
        only = ", ".join(sorted(names)) or "none"
        raise HeedfulError(
            f"{where} has fewer than two classes ({only}), so there is nothing to learn: give "
            f"texts of at least two."
        )
    if all(_is_whole(name) for name in names):
        return tuple(sorted(names, key=int))
    return tuple(sorted(names))


def numbered(names: Iterable[str]) -> dict[str, int]:
    """The class of each name: a file may have very many."""
    return {name: number for number, name in enumerate(names)}


def label_name(value: Any, where: str, row: int) -> str:
    """One label as a string; a missing one is an error, never a class of its own."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if missing or not str(value).strip() or str(value).strip().lower() == "nan":
        raise HeedfulError(f"row {row} of {where} has no label: fill it in or leave the row out.")
    if not isinstance(value, (str, int, float)):
        raise HeedfulError(
            f"row {row} of {where} has a {type(value).__name__} for a label: give a text or a "
            f"number."
        )
    return str(value).strip()


def index_of(name: str, names: Mapping[str, int], where: str, row: int) -> int:
    """The class of a name; `names` are numbered."""
    if name not in names:
        raise HeedfulError(
            f"row {row} of {where} has label {short(name)!r}: choose one of {listed(names)}."
        )
    return names[name]


def _is_whole(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(name)) == name
