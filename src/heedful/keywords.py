"""Keywords of public functions: declared once, as fields of the dataclasses that use them.

A function that `takes` such dataclasses shows all their fields in its signature and in its
docstring, so `help` lists them, and several functions share one declaration.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, ParamSpec, TypeVar

from heedful.errors import HeedfulError

DOC = "doc"
"""Where a field keeps its sentence."""
ELSEWHERE: Mapping[str, str] = {
    "out": "call audit.save(folder) or audit.to_html(file) on the result",
    "card": "call audit.to_card(file) on the result",
    "dry_run": "call heedful.estimate",
    "as_json": "call verdict.to_json() on the result",
    "json": "call verdict.to_json() on the result",
    "param": "write params={name: value}",
    "every": "its name is all",
    "limit": "its name is n",
    "operators": "its name is perturbations",
    "smallest": "its name is min_effect",
}
"""Options of the command line that Python spells otherwise."""
WIDTH = 88

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def keyword(doc: str, default: Any = None) -> Any:
    """A field that is a keyword of the functions that take its dataclass."""
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata={DOC: doc})
    return field(default=default, metadata={DOC: doc})


def takes(
    *kinds: type[Any], only: Collection[str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The function's `**options` are the fields of these dataclasses, or `only` some of them. A
    wrong keyword is refused with the nearest right one."""
    chosen = [each for each in _declared(kinds) if only is None or each.name in only]

    def taking(function: Callable[P, R]) -> Callable[P, R]:
        whole = _signature(function, chosen)

        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            for name in given:
                if name not in whole.parameters:
                    raise _unknown(function.__name__, name, list(whole.parameters))
            return function(*args, **given)

        call.__signature__ = whole  # type: ignore[attr-defined]
        call.__doc__ = _documented(function.__doc__ or "", chosen)
        return call

    return taking


def taken(kind: type[T], options: dict[str, Any]) -> T:
    """The dataclass of its keywords, which are no longer among the options then."""
    own = [each.name for each in fields(kind) if each.name in options]  # type: ignore[arg-type]
    return kind(**{name: options.pop(name) for name in own})


class _Written(str):
    """An annotation that a signature shows as it was written, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _declared(kinds: Collection[type[Any]]) -> Iterator[Field[Any]]:
    for kind in kinds:
        yield from (each for each in fields(kind) if DOC in each.metadata)


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _signature(function: Callable[..., Any], chosen: Collection[Field[Any]]) -> Signature:
    written = signature(function)
    own = [
        each.replace(annotation=_Written(each.annotation))
        for each in written.parameters.values()
        if each.kind is not Parameter.VAR_KEYWORD
    ]
    added = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=_default(each),
            annotation=_Written(each.type),
        )
        for each in chosen
    ]
    return Signature([*own, *added], return_annotation=_Written(written.return_annotation))


def _documented(doc: str, chosen: Collection[Field[Any]]) -> str:
    """With a line for every keyword, below what the function says itself."""
    lines = [textwrap.dedent(f"    {doc}").rstrip(), "", "Keywords:"]
    for each in chosen:
        lines.append(f"    {each.name}: {each.type} = {_default(each)!r}")
        lines += textwrap.wrap(
            each.metadata[DOC], WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8
        )
    return "\n".join(lines) + "\n"


def _unknown(function: str, name: str, known: Collection[str]) -> HeedfulError:
    said = f"{function}() has no keyword {name!r}"
    if name in ELSEWHERE:
        return HeedfulError(f"{said}: {ELSEWHERE[name]}.")
    close = difflib.get_close_matches(name, known, 1, 0.5)
    if close:
        return HeedfulError(f"{said}: did you mean {close[0]!r}?")
    return HeedfulError(f"{said}: help(heedful.{function}) lists them all.")
