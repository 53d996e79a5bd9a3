"""The charts of an audit as figures, for files of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heedful.report.audit_choice import ranking_order
from heedful.report.audit_dots import ROLES, dot_domain, dot_plot
from heedful.report.audit_edits import exclusive, moved, panel
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_inside import ENDS, MODES, alone_panels, stack_panels
from heedful.report.audit_positions import Positions, positions
from heedful.report.figures.figure import Figure, Group, Panel

Role = tuple[str, str, str]
"""A name, its colour and its shape."""


def audit_figures(evidence: AuditEvidence) -> Iterator[Figure]:
    """One for each chapter of the page that has charts."""
    found, order = positioned(evidence)
    yield from _figure("positions", dot_panels(found, order), roles(evidence))
    yield from _figure("changed", [panel(one) for one in moved(evidence)])
    yield from _figure("same_output", [panel(one) for one in exclusive(evidence)])
    yield from _figure("stacks", stack_panels(evidence), ENDS.values())
    yield from _figure("layers", alone_panels(evidence), MODES.values())


def positioned(evidence: AuditEvidence) -> tuple[list[Positions], list[str]]:
    """By measure and operator, and the order of explanations in all of them."""
    found = positions(evidence)
    names = {str(name) for one in found for name in one.table["explanation"]}
    return found, ranking_order(evidence, names)


def dot_panels(found: list[Positions], order: list[str]) -> list[Panel]:
    domain = dot_domain(found) if found else (0.0, 1.0)
    return [dot_plot(one, order, domain) for one in found]


def roles(evidence: AuditEvidence) -> list[Role]:
    """What colours and shapes of positions mean."""
    return [role for role in ROLES.values() if role[0] != "recommended" or evidence.best]


TITLES = {
    "positions": "Explanations from a random order (0) to the best order found (1)",
    "changed": "How far the output moves when attention is changed",
    "same_output": "How far another attention with the same output can be",
    "stacks": "More and more layers shuffled",
    "layers": "One layer changed, the others as they are",
}


def _figure(name: str, panels: list[Panel], legend: Iterable[Role] = ()) -> Iterator[Figure]:
    if panels:
        colours = tuple((role, colour) for role, colour, _ in legend)
        yield Figure(name, TITLES[name], "", (Group("", colours, tuple(panels)),))
