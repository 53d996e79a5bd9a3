"""Who measures a number whose name a table shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heedful.catalogue import Catalogue, Measure
from heedful.errors import HeedfulError


@dataclass(frozen=True)
class Measured:
    """A number, and what reports it: a piece, or a group of an audit."""

    name: str
    measure: Measure
    by: str

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {"name": self.name, "by": self.by, **asdict(self.measure)}


def measured_by(name: str, known: Mapping[str, Catalogue]) -> list[Measured]:
    """Everything that reports a number of this name; the nearest name it is declared under."""
    found = []
    for by, measures in _declared(known):
        declared = _declaration(name, measures)
        if declared is not None:
            found.append(Measured(name, measures[declared], by))
    return found


def measure_names(known: Mapping[str, Catalogue]) -> list[str]:
    return sorted({name for _, measures in _declared(known) for name in measures})


def _declaration(name: str, measures: Mapping[str, Measure]) -> str | None:
    """The name itself, or the longest beginning that stands for it."""
    if name in measures:
        return name
    starred = [each for each in measures if each[-1] == "*" and name.startswith(each[:-1])]
    return max(starred, key=len, default=None)


def _declared(known: Mapping[str, Catalogue]) -> Iterator[tuple[str, Mapping[str, Measure]]]:
    from heedful.auditing.numbers import ALWAYS, NUMBERS, SEEDS

    special = {ALWAYS: "heedful audit", SEEDS: f"heedful audit {SEEDS}"}
    for group, measures in NUMBERS.items():
        yield special.get(group, f"heedful audit ({group})"), measures
    for kind, catalogue in known.items():
        for name in catalogue:
            try:
                piece = catalogue[name]
            except HeedfulError:  # of an installed package that cannot be loaded
                continue
            if piece.measures:
                yield f"{kind} {name}", piece.measures
