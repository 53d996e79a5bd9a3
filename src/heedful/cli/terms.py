"""Terms of the loss named on the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heedful.cli.corpus import parameter
from heedful.errors import HeedfulError
from heedful.specs import TermSpec

Terms = Annotated[
    list[str] | None,
    typer.Option("--term", help="name=weight: a term of the loss, weight 1 if left out."),
]
TermParams = Annotated[
    list[str] | None,
    typer.Option("--term-param", help="name.key=value: a parameter of one of the terms."),
]


def terms(texts: list[str] | None, params: list[str] | None) -> tuple[TermSpec, ...]:
    """In the order they were typed; whether there are such terms is for others to say."""
    weights = [_weight(text) for text in texts or ()]
    chosen = [name for name, _ in weights]
    for name in chosen:
        if chosen.count(name) > 1:
            raise HeedfulError(f"--term names {name} twice: give it one weight.")
    given = _params(params or [], chosen)
    return tuple(TermSpec(name, weight, given[name]) for name, weight in weights)


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = (part.strip() for part in text.partition("="))
    try:
        return name, float(number) if equals else 1.0
    except ValueError as error:
        raise HeedfulError(
            f"--term is {text!r}: write name=weight with a number, such as diversity=0.5."
        ) from error


def _params(texts: list[str], names: list[str]) -> dict[str, tuple[tuple[str, Any], ...]]:
    """The parameters of each term, by its name."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for text in texts:
        place, equals, _ = text.partition("=")
        term, dot, key = (part.strip() for part in place.partition("."))
        if not (equals and dot and term and key):
            raise HeedfulError(f"--term-param is {text!r}: write name.key=value.")
        if term not in found:
            raise HeedfulError(f"--term-param is {text!r}, and there is no --term {term}: add it.")
        if key in found[term]:
            raise HeedfulError(f"--term-param gives {term}.{key} twice: give it once.")
        found[term][key] = parameter(text)[1]
    return {name: tuple(given.items()) for name, given in found.items()}
