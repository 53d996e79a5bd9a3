"""Who measures a number whose name a table shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heedful.catalogue import Catalogue, Measure
from heedful.cli.list_facts import better, in_words
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

    def reading(self) -> dict[str, str]:
        """What a reader of the number wants to know, under its heading; only what is known."""
        from heedful.preregistration import in_order

        each = self.measure
        known = {
            "formula": each.formula,
            "range": in_words(each.range),
            "better": better(each.higher_is_better),
            "paper": "; ".join(entry.words for entry in in_order(each.papers)),
            "measured by": self.by,
        }
        return {name: value for name, value in known.items() if value}


def audit_measures() -> list[Measured]:
    """Every number in an audit's table."""
    numbered = _of_audits()
    return [Measured(name, each, by) for by, group in numbered for name, each in group.items()]


def measured_by(name: str, known: Mapping[str, Catalogue]) -> list[Measured]:
    """Everything that reports a number of this name; the nearest name it is declared under.
    Where there is none, numbers whose names begin with it: `deletion` is `deletion_auc`."""
    from heedful.auditing import declaration

    found, begun = [], []
    for by, measures in (*_of_audits(), *_of_pieces(known)):
        declared = declaration(name, measures)
        if declared is not None:
            found.append(Measured(name, measures[declared], by))
        start = f"{name}_"
        begun += [Measured(each, measures[each], by) for each in measures if each.startswith(start)]
    return found or begun


def measure_names(known: Mapping[str, Catalogue]) -> list[str]:
    return sorted({name for _, each in (*_of_audits(), *_of_pieces(known)) for name in each})


def _of_audits() -> Iterator[tuple[str, Mapping[str, Measure]]]:
    from heedful.auditing import ALWAYS, NUMBERS, SEEDS

    special = {ALWAYS: "heedful audit", SEEDS: f"heedful audit {SEEDS}"}
    for group, measures in NUMBERS.items():
        yield special.get(group, f"heedful audit ({group})"), measures


def _of_pieces(known: Mapping[str, Catalogue]) -> Iterator[tuple[str, Mapping[str, Measure]]]:
    for kind, catalogue in known.items():
        for name in catalogue:
            try:
                piece = catalogue[name]
            except HeedfulError:  # of an installed package that cannot be loaded
                continue
            if piece.measures:
                yield f"{kind} {name}", piece.measures
