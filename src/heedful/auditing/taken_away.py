"""What the output does as words go, in the order each explanation gives them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from heedful.auditing.decisions import Decisions
from heedful.auditing.shown import Shown
from heedful.auditing.spec import CEILING, AuditSpec
from heedful.auditing.table import Table
from heedful.measures.ceiling import Search, ceilings
from heedful.measures.curves import Grid, curves_of
from heedful.measures.erasure import erasure
from heedful.models.output import TARGETS
from heedful.removal.memory import Memory

GRID = Grid(points=5, single=16)


def taken_away(
    table: Table,
    made: Decisions,
    maps: Mapping[str, Tensor],
    spec: AuditSpec,
    role: str = "base",
    shown: Shown | None = None,
) -> None:
    """Every measure of every map under every operator, and the ceiling found by search. The
    model may be another than the one on trial: `role` names it in the table."""
    target, one = TARGETS[spec.target], (made.model, made.batch, made.label)
    for operator in spec.operators:
        memory = Memory()
        found = curves_of(*one, maps, operator, target, GRID, memory)
        for name, each in found.items():
            table.add(erasure(each), name, operator, role)
        if shown is not None and _recorded(operator, spec):
            shown.curves(found, operator)
        if spec.ceiling:
            search = Search(width=2, budget=spec.ceiling)
            best = ceilings(*one, maps, operator, target, GRID, search, found, memory)
            table.add(best.values, CEILING, operator, role)


def _recorded(operator: str, spec: AuditSpec) -> bool:
    """One way of taking words away is enough to look at, if it is a probability that falls."""
    return operator == spec.operators[0] and spec.target == "probability"
