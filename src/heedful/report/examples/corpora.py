"""Which cells speak of the same texts, and can be compared text by text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heedful.report.examples.cell import Cell
from heedful.report.examples.drawn import drawn

LOOKED_AT = 50
"""Shared texts that are compared before two cells count as being of one corpus."""
_NUMBER = re.compile(r"(LABEL_)?\d+")


def by_corpus(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups of cells with the same name, ids, texts and classes, in the order of the first."""
    groups: list[list[Cell]] = []
    for cell in cells:
        fitting = (group for group in groups if _same(group[0], cell))
        group = next(fitting, None)
        if group is None:
            groups.append([cell])
        else:
            group.append(cell)
    return groups


def _same(one: Cell, other: Cell) -> bool:
    """Classes of other names are the same where both number the labels of all texts alike."""
    shared = drawn(set(one.names) & set(other.names))[:LOOKED_AT]
    if one.corpus != other.corpus or not shared:
        return False
    first, second = one.documents(shared), other.documents(shared)
    pairs = [(first[name], second[name]) for name in shared]
    named = _classes(one) == _classes(other)
    numbered = len(one.classes) == len(other.classes) and all(a.label >= 0 for a, _ in pairs)
    alike = all(a.text == b.text and a.label == b.label for a, b in pairs)
    return alike and (named or numbered)


def class_names(cells: Sequence[Cell]) -> Sequence[str]:
    """Those of the first cell that has more than numbers to say (`LABEL_0`)."""
    named = (cell.classes for cell in cells if not all(map(_NUMBER.fullmatch, cell.classes)))
    return next(named, cells[0].classes)


def _classes(cell: Cell) -> list[str]:
    return [name.casefold() for name in cell.classes]
