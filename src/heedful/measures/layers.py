"""Changing attention layer by layer (vashishth2019, §4.3).

Layers of one kind form a group: sites whose names differ in nothing but numbers, such as
`decoder.0.cross` and `decoder.1.cross`. So it works for any model, also inside `attach`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heedful.measures.interventions import Effect, Intervention, effect
from heedful.measures.replaced import base_trace
from heedful.types import Batch, Model, SiteSpec, Trace

# `encoder.3`, `layer3`, and `attention#3`: the third call of one module
_NUMBER = re.compile(r"\.\d+(?=\.|#|$)|^\d+\.|#\d+$|(?<=\w)\d+(?=\.|#|$)")


@dataclass(frozen=True)
class Stack:
    """Some layers of a group: so many from one `end`, `first` or `last`."""

    group: str
    end: str
    sites: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.group}:{self.end}={len(self.sites)}"


def group_of(site: str) -> str:
    """The name without the numbers of layers."""
    return _NUMBER.sub("", site)


def groups(sites: Iterable[SiteSpec]) -> dict[str, tuple[str, ...]]:
    """The sites of each group in the order in which they are computed."""
    found: dict[str, list[str]] = {}
    for site in sites:
        found.setdefault(group_of(site.name), []).append(site.name)
    return {group: tuple(names) for group, names in found.items()}


def stacks(sites: Iterable[SiteSpec]) -> Iterator[Stack]:
    """Of each group the first one, two, … layers, and the last ones; all of them once."""
    for group, names in groups(sites).items():
        for count in range(1, len(names) + 1):
            yield Stack(group, "first", names[:count])
        for count in range(1, len(names)):
            yield Stack(group, "last", names[-count:])


def cumulative(
    model: Model,
    batch: Batch,
    edit: str = "permute",
    mode: str = "recomputed",
    seed: int = 0,
    trace: Trace | None = None,
) -> dict[Stack, Effect]:
    """What editing each stack does. A base trace of the batch saves making it again."""
    trace = trace or base_trace(model, batch)
    return {
        stack: effect(model, batch, Intervention(edit, stack.sites, mode, seed=seed), trace)
        for stack in stacks(model.sites)
    }
