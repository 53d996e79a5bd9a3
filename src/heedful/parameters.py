"""Parameters of pieces, as people give them.

What a value may be is declared where the parameter is: its kind by the signature of the piece's
maker, its range by `Entry.bounds`. Whoever takes parameters from a user asks here, before any
work is done.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from heedful.entries import Range
from heedful.errors import HeedfulError, unknown_name

LARGEST_SEED = 2**32 - 1
_USUAL: Mapping[str, Range] = {"seed": (0, LARGEST_SEED)}
"""Of names that mean the same everywhere."""
_WIDEST: Mapping[type, Range] = {
    int: (-(2**63), 2**63 - 1),
    float: (-sys.float_info.max, sys.float_info.max),
}
_EXAMPLES: Mapping[type, Any] = {bool: True, int: 1, float: 0.5, str: "text"}
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "none": None}


def value_of(text: str) -> Any:
    """A typed value: number, true/false, none or text. What is not finite is no number."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            found = kind(text)
        except ValueError:
            continue
        if isinstance(found, int) or math.isfinite(found):
            return found
    return text


def parameters_of(
    make: Callable[..., Any], handed: Collection[str] = ()
) -> dict[str, inspect.Parameter]:
    """What may be set of a maker: all but what it is `handed` by whoever calls it."""
    found = inspect.signature(make).parameters
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: each
        for name, each in found.items()
        if name not in handed and each.kind not in several
    }


def check_parameters(
    what: str,
    make: Callable[..., Any],
    given: Mapping[str, Any],
    bounds: Mapping[str, Range] | None = None,
    handed: Collection[str] = (),
) -> None:
    """Refuse a name that is none and a value of another kind or out of range; `what` is who has
    the parameters, as a sentence says it: `corpus planted`."""
    known = parameters_of(make, handed)
    fixed = make.keywords if isinstance(make, partial) else {}
    for name, value in given.items():
        if name not in known:
            raise unknown_name(f"parameter of {what}", name, list(known) or ["(none)"])
        if name in fixed and value != fixed[name]:
            raise HeedfulError(
                f"the parameter {name!r} of {what} is always {fixed[name]!r}: leave it out."
            )
        _check(what, known[name], value, bounds or {})


def takes_several(parameter: inspect.Parameter) -> bool:
    """Whether it is a sequence of values."""
    return _element(parameter) is not None


def _element(parameter: inspect.Parameter) -> type | None:
    """Of which kind the values of a sequence are; None for what is no sequence of plain values."""
    begin, _, rest = str(parameter.annotation).partition("[")
    if begin.rpartition(".")[2] != "Sequence":
        return None
    return next((kind for kind in _EXAMPLES if rest == f"{kind.__name__}]"), None)


def _check(
    what: str, parameter: inspect.Parameter, value: Any, bounds: Mapping[str, Range]
) -> None:
    element = _element(parameter)
    if element is not None:
        each = value if isinstance(value, (tuple, list)) else (value,)
        plain = parameter.replace(annotation=element, default=inspect.Parameter.empty)
        for one in each:
            _check(what, plain, one, bounds)
        return
    kind, default = _kind(parameter), parameter.default
    if kind is None or (value is None and default is None):
        return
    limits = _limits(parameter.name, kind, bounds)
    if _fits(value, kind) and (limits is None or limits[0] <= value <= limits[1]):
        return
    like = _EXAMPLES[kind] if default in (None, inspect.Parameter.empty) else default
    example = like if like != "" else f"/{value}/"
    raise HeedfulError(
        f"the parameter {parameter.name!r} of {what} is {value!r}: give a value like "
        f"{example!r}{_range(kind, limits)}."
    )


def _kind(parameter: inspect.Parameter) -> type | None:
    """That of its default; without one, what is annotated; None where neither is plain."""
    if type(parameter.default) in _EXAMPLES:
        return type(parameter.default)
    annotation = parameter.annotation
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    named = {part.strip() for part in written.split("|")} - {"None"}
    return next((kind for kind in _EXAMPLES if named == {kind.__name__}), None)


def _limits(name: str, kind: type, bounds: Mapping[str, Range]) -> Range | None:
    """What is declared, but never more than a machine's numbers."""
    if kind not in _WIDEST:
        return None
    least, most = _WIDEST[kind]
    low, high = bounds.get(name, _USUAL.get(name, (least, most)))
    return max(low, least), min(high, most)


def _fits(value: Any, kind: type) -> bool:
    """`true` is a number for Python only, and a whole number is one of any kind."""
    wanted = (int, float) if kind is float else (kind,)
    return isinstance(value, wanted) and (isinstance(value, bool) == (kind is bool))


def _range(kind: type, limits: Range | None) -> str:
    if limits is None or limits == _WIDEST[kind]:
        return ""
    what = "a whole number" if kind is int else "a number"
    low, high = (f"{limit:,}" if kind is int else f"{limit:g}" for limit in limits)
    if limits[1] >= _WIDEST[kind][1] and kind is float:
        return f", {what} of {low} or more"
    return f", {what} from {low} to {high}"
