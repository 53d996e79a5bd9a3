"""Options that are declared once: a dataclass of options, spread over a verb's command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with an option for each field of its parameters that are dataclasses; so verbs
    that take the same dataclass take the same options."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(verb)
    def call(**given: Any) -> None:
        made = {
            name: kind(**{each.name: given.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        verb(**given, **made)

    options = list(_options(verb, hints))
    call.__signature__ = Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in options}
    return call


def _options(verb: Callable[..., None], hints: dict[str, Any]) -> Iterator[Parameter]:
    for each in signature(verb).parameters.values():
        kind = hints[each.name]
        if not is_dataclass(kind):
            yield Parameter(
                each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=kind
            )
            continue
        inner = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=inner[field.name],
            )
