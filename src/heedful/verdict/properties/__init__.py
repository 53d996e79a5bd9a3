"""The properties a verdict speaks about: every `Property` that a module of this folder defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from heedful.verdict.evaluation import Property
from heedful.verdict.inference import position


def _defined() -> Iterator[Property]:
    for module in iter_modules(__path__, f"{__name__}."):
        values = vars(import_module(module.name)).values()
        yield from (each for each in values if isinstance(each, Property))


PROPERTIES: Mapping[str, Property] = {
    each.name: each for each in sorted(set(_defined()), key=lambda each: each.order)
}
"""In the order they are shown."""

EFFECTS: Mapping[str, float] = {
    name: each.smallest_effect
    for name, each in PROPERTIES.items()
    if each.smallest_effect is not None
}
"""The smallest effects of interest."""

REQUIRED = tuple(name for name, each in PROPERTIES.items() if each.required)
"""What attention must pass to be shown as an explanation. These share one alpha, however many
of them were measured: the data must not choose how many there are."""

QUESTIONS: Mapping[str, str] = {name: each.question for name, each in PROPERTIES.items()}
"""What a page asks about each."""

RELATIVE = tuple(name for name, each in PROPERTIES.items() if each.formula is position)
"""Estimated as a share of the way from floor to ceiling: the floor is 0, the ceiling 1."""
