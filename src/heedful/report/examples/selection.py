"""Which texts are shown, drawn by rule, and which cells can be compared text by text."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from heedful.report.examples.cell import Cell, Document


def drawn(names: Iterable[str]) -> list[str]:
    """By a hash of their names: the first so many are a random sample."""
    return sorted(names, key=_place)


def _place(name: str) -> tuple[bytes, str]:
    return hashlib.blake2b(name.encode("utf8", "replace"), digest_size=8).digest(), name


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


def told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """Runs that would still be called the same are numbered, in their order."""
    count, seen = Counter(map(_name, cells)), Counter[tuple[str, ...]]()
    found = []
    for cell in cells:
        seen[_name(cell)] += 1
        twice = bool(cell.run) and count[_name(cell)] > 1
        run = f"{cell.run}, no. {seen[_name(cell)]}" if twice else cell.run
        found.append(replace(cell, run=run))
    return found


def _name(cell: Cell) -> tuple[str, ...]:
    return cell.corpus, cell.model, cell.seed, cell.source, cell.run
