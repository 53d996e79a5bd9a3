"""Which texts are shown: the same for all models of a corpus, drawn, and not too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heedful.report.examples.cell import Cell, Document
from heedful.report.examples.drawn import drawn

LEAST = 10
"""Texts of a corpus that are shown however long they are."""
NUMBERS = 300_000
"""Of all maps together: a number takes up to seven bytes of a page."""
MOST_WORDS = 2000
"""Words of a text; what follows is cut off."""


def chosen(cells: Sequence[Cell], most: int, numbers: int) -> list[str]:
    """Of one corpus at most so many texts, as long as their maps have at most so many numbers.
    Texts that more of the models have read come first."""
    found: list[str] = []
    spent = 0
    for name, cost in _priced(cells, most):
        spent += cost
        if len(found) >= most or (spent > numbers and len(found) >= LEAST):
            break
        found.append(name)
    return found


def _priced(cells: Sequence[Cell], most: int) -> Iterator[tuple[str, int]]:
    """Texts in the order they are taken, and how many numbers they bring."""
    order = _order(cells)[:most]
    documents = [cell.documents(known_of(cell, order)) for cell in cells]
    for name in order:
        pairs = zip(cells, documents, strict=True)
        yield name, sum(_cost(cell, known.get(name)) for cell, known in pairs)


def known_of(cell: Cell, names: Sequence[str]) -> list[str]:
    """Those of the names that a cell knows, in their order."""
    known = set(cell.names)
    return [name for name in names if name in known]


def _order(cells: Sequence[Cell]) -> list[str]:
    known: dict[str, int] = {}
    for cell in cells:
        for name in cell.names:
            known[name] = known.get(name, 0) + 1 + (name in cell.whole)
    return sorted(drawn(known), key=lambda name: -known[name])


def _cost(cell: Cell, document: Document | None) -> int:
    """Numbers to be reckoned with have twice the digits."""
    if document is None:
        return 0
    return min(len(document.spans), MOST_WORDS) * (len(cell.maps) + 1 + 2 * cell.logits)
